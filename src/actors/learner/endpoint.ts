/** Language models that answer prompts, as the roles use them: opened from a section of the config, tried once, counted. */
import type { Config } from '../../config.ts'
import { RlError } from '../../errors.ts'
import type { GenerateRequest } from '../../models/port.ts'
import type { ModelOptions, PromptedModel } from '../../models/provider.ts'
import { providerOf } from '../../models/registry.ts'
import type { CallBudget } from './call-budget.ts'

type Usual = 'model' | 'baseUrl' | 'window' | 'elsewhere'
type FinePoint =
  | 'apiKeyEnv'
  | 'concurrency'
  | 'windowTokens'
  | 'extraBody'
  | 'template'
  | 'reasoningEffort'
  | 'sendSeed'
  | 'promptPrice'
  | 'completionPrice'

type Section = Pick<ModelOptions, Usual> & {
  readonly provider: string
  readonly expert: Pick<ModelOptions, FinePoint>
}

/** Share of a deadline. The rest lets the answer, or the reason why there is none, reach the asker in time. */
export const SHARE_OF_DEADLINE = 0.95

/**
 * @param name the section's name, for errors
 * @param budgetSeconds time that the asker waits for one generation, retries included
 * @param calls budget that each call is taken from
 * @param readImage for prompts with images
 * @throws RlError `config.invalid` if the section's provider answers no prompts
 */
export async function endpointOf(
  name: ModelOptions['section'],
  { provider, ...section }: Section,
  config: Config,
  budgetSeconds: number,
  calls: CallBudget | null,
  readImage?: ModelOptions['readImage'],
): Promise<PromptedModel> {
  const found = providerOf({ provider }, config)
  const budgetMs = budgetSeconds * 1000 * SHARE_OF_DEADLINE
  const opened = await found.open?.({
    section: name,
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

/** Returns the part of a section that concerns its model. A user's provider gets no more. */
function optionsOf(section: Omit<Section, 'provider'>) {
  const { model, baseUrl, window, elsewhere } = section
  const { apiKeyEnv, concurrency, promptPrice, completionPrice, windowTokens } = section.expert
  const { extraBody, template, reasoningEffort, sendSeed } = section.expert
  return {
    model,
    baseUrl,
    apiKeyEnv,
    concurrency,
    promptPrice,
    completionPrice,
    window,
    windowTokens,
    extraBody,
    template,
    reasoningEffort,
    sendSeed,
    elsewhere,
  }
}

/**
 * Makes one short call. A wrong name, key or address, or refused sampling, is told before anything depends on it. The
 * endpoint is asked for its context size, so that it is known before the first long prompt.
 *
 * @param sampling as the section will ask: hosted reasoning models refuse other temperatures than 1
 */
export async function tryOut(
  model: PromptedModel,
  { temperature, topP }: Pick<GenerateRequest, 'temperature' | 'topP'>,
): Promise<void> {
  const request: GenerateRequest = {
    prompt: { messages: [{ role: 'user', content: 'Say ok.' }] },
    maxTokens: 1,
    temperature,
    topP,
    seed: [0, 0],
  }
  await model.fits?.(request)
  await model.generate([request])
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
