/** Language models behind an endpoint as the roles use them: opened from a section of the config, tried once, counted. */
import type { Config } from '../../config.ts'
import { type EndpointModel, type EndpointUse, openEndpoint } from '../../models/openai.ts'

type Section = Pick<
  Config['policy'],
  'model' | 'baseUrl' | 'apiKeyEnv' | 'concurrency' | 'promptPrice' | 'completionPrice'
>

/** Of a deadline, so that an answer (or why there is none) still reaches the one who waits. */
const SHARE_OF_DEADLINE = 0.95

/** @param budgetSeconds how long the asker waits for one generation, retries included */
export function endpointOf(
  { model, baseUrl, apiKeyEnv, concurrency, promptPrice, completionPrice }: Section,
  { run }: Config,
  budgetSeconds: number,
): EndpointModel {
  const budgetMs = budgetSeconds * 1000 * SHARE_OF_DEADLINE
  return openEndpoint({
    ...{ model, baseUrl, apiKeyEnv, concurrency, promptPrice, completionPrice },
    callMs: Math.min(run.deadlines.llmCallSeconds * 1000, budgetMs),
    budgetMs,
  })
}

/** One short call: a wrong name, key or address is told before anything depends on it. */
export async function tryOut(model: EndpointModel): Promise<void> {
  await model.generate([
    {
      prompt: { messages: [{ role: 'user', content: 'Say ok.' }] },
      maxTokens: 1,
      temperature: 0,
      seed: [0, 0],
    },
  ])
}

/** The counts for `rl status`: faults by kind, tokens, cost. */
export function endpointCounters({ faults, cost, ...use }: EndpointUse): Record<string, number> {
  const named = Object.entries(faults).map(([kind, count]) => [`fault ${kind}`, count])
  return { ...use, ...(cost === null ? {} : { cost }), ...Object.fromEntries(named) }
}

/** Counts by name, for answers that no rule could read. */
export function createTally() {
  const counts: Record<string, number> = {}
  return {
    add(name: string): void {
      counts[name] = (counts[name] ?? 0) + 1
    },
    counts: (): Readonly<Record<string, number>> => ({ ...counts }),
  }
}
