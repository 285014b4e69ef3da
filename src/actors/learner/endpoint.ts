/** Language models that answer prompts, as the roles use them: opened from a section of the config, tried once, counted. */
import { RlError } from '../../errors.ts'
import type { GenerateRequest } from '../../models/port.ts'
import type { ModelOptions, ModelProvider, PromptedModel } from '../../models/provider.ts'
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
  readonly expert: Pick<ModelOptions, FinePoint>
}

/** How a role calls a model. */
export type Calling = {
  /** Seconds that the asker waits for one generation, retries included. */
  readonly budgetSeconds: number
  /** Seconds that one call may take (`run.deadlines.llmCallSeconds`). */
  readonly callSeconds: number
  /** Budget that each call is taken from. */
  readonly calls: CallBudget | null
  /** For prompts with images. */
  readonly readImage?: ModelOptions['readImage']
}

/** Share of a deadline. The rest lets the answer, or the reason why there is none, reach the asker in time. */
export const SHARE_OF_DEADLINE = 0.95

/**
 * @param name the section's name, for errors
 * @param provider that of the section
 * @throws RlError `config.invalid` if the provider answers no prompts
 */
export async function endpointOf(
  name: ModelOptions['section'],
  section: Section,
  provider: ModelProvider,
  { budgetSeconds, callSeconds, calls, readImage }: Calling,
): Promise<PromptedModel> {
  const budgetMs = budgetSeconds * 1000 * SHARE_OF_DEADLINE
  const opened = await provider.open?.({
    section: name,
    ...optionsOf(section),
    report: (message) => void process.stdout.write(`${message}\n`),
    callMs: Math.min(callSeconds * 1000, budgetMs),
    budgetMs,
    permit: calls?.spend,
    readImage,
  })
  if (opened) return opened
  throw new RlError(`the provider '${provider.name}' answers no prompts`, {
    code: 'config.invalid',
    hint: 'use provider openai, or one of yours (models.module)',
  })
}

/** Returns the part of a section that concerns its model. A user's provider gets no more. */
function optionsOf(section: Section) {
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
