/** Language models that answer prompts, as the roles use them: opened from a section of the config, tried once, counted. */
import type { Config } from '../../config.ts'
import { RlError } from '../../errors.ts'
import type { ModelOptions, PromptedModel } from '../../models/provider.ts'
import { providerOf } from '../../models/registry.ts'
import type { CallBudget } from './call-budget.ts'

type Section = Omit<ModelOptions, 'callMs' | 'budgetMs' | 'permit' | 'readImage' | 'report'> & {
  readonly provider: string
}

/** Of a deadline, so that an answer (or why there is none) still reaches the one who waits. */
const SHARE_OF_DEADLINE = 0.95

/**
 * @param budgetSeconds how long the asker waits for one generation, retries included
 * @param calls what each call is taken from
 * @param readImage for prompts with images
 * @throws RlError `config.invalid` where the section's provider answers no prompts
 */
export async function endpointOf(
  { provider, ...section }: Section,
  config: Config,
  budgetSeconds: number,
  calls: CallBudget | null,
  readImage?: ModelOptions['readImage'],
): Promise<PromptedModel> {
  const found = providerOf({ provider }, config)
  const budgetMs = budgetSeconds * 1000 * SHARE_OF_DEADLINE
  const opened = await found.open?.({
    ...optionsOf(section),
    report: (message) => void process.stdout.write(`${message}\n`),
    callMs: Math.min(config.run.deadlines.llmCallSeconds * 1000, budgetMs),
    budgetMs,
    permit: calls?.spend,
    readImage,
  })
  if (opened) return opened
  throw new RlError(`the provider '${provider}' answers no prompts`, {
    code: 'config.invalid',
    hint: 'use provider openai, or one of yours (models.module)',
  })
}

/** Of a section what concerns its model: a user's provider is told no more. */
function optionsOf(section: Omit<Section, 'provider'>) {
  const { model, baseUrl, apiKeyEnv, concurrency, promptPrice, completionPrice } = section
  const { windowTokens, extraBody, template, reasoningEffort, sendSeed } = section
  return {
    ...{ model, baseUrl, apiKeyEnv, concurrency, promptPrice, completionPrice },
    ...{ windowTokens, extraBody, template, reasoningEffort, sendSeed },
  }
}

/** One short call: a wrong name, key or address is told before anything depends on it. At temperature 1, which every model takes. */
export async function tryOut(model: PromptedModel): Promise<void> {
  await model.generate([
    {
      prompt: { messages: [{ role: 'user', content: 'Say ok.' }] },
      maxTokens: 1,
      temperature: 1,
      seed: [0, 0],
    },
  ])
}

/** Counts by name, for answers that no rule could read. */
export function createCounts() {
  const counts: Record<string, number> = {}
  return {
    add(name: string): void {
      counts[name] = (counts[name] ?? 0) + 1
    },
    counts: (): Readonly<Record<string, number>> => ({ ...counts }),
  }
}
