/** The endpoint of a role's model, or its endpoints: each version that was published has servers and a name of its own. */
import { unlessAborted } from '../../clock.ts'
import type { TrainedConfig } from '../../config-schema/sections.ts'
import { RlError } from '../../errors.ts'
import type { LogClient } from '../../events/log-client.ts'
import { deadline } from '../../models/openai/deadline.ts'
import { createWindow } from '../../models/openai/window.ts'
import type { GenerateRequest, Generation } from '../../models/port.ts'
import type { ModelProvider, PromptedModel } from '../../models/provider.ts'
import { callBudgetOf } from './call-budget.ts'
import type { ModelRole } from './checkpoints.ts'
import { type Calling, endpointOf, SHARE_OF_DEADLINE } from './endpoint.ts'
import { startPublisher } from './publisher.ts'
import type { Target } from './targets.ts'

export type ServedModel = {
  /** The model as the config names it. */
  readonly first: PromptedModel
  readonly generate: (
    version: number,
    requests: readonly GenerateRequest[],
    signal: AbortSignal,
  ) => Promise<Generation[]>
  readonly fits: (request: GenerateRequest) => Promise<boolean>
  readonly counters: () => Readonly<Record<string, number>>
  readonly close: () => Promise<void>
}

/** @param provider that of the section */
export async function openServedModel(
  role: ModelRole,
  section: TrainedConfig,
  provider: ModelProvider,
  { budgetSeconds, callSeconds }: Pick<Calling, 'budgetSeconds' | 'callSeconds'>,
  log: LogClient,
): Promise<ServedModel> {
  const name = role === 'policy' ? 'policy' : 'rewardModel'
  const { publish } = section
  // Versions of a model share one tokenizer and one context: facts of one version hold for all.
  const shared = { ...section, window: createWindow(section.expert.windowTokens) }
  const calls = callBudgetOf(log, role, section.expert.maxCalls)
  const calling: Calling = { budgetSeconds, callSeconds, calls, readImage: log.getBlob }
  const first = await endpointOf(name, shared, provider, calling)
  const fits = async (request: GenerateRequest) => (await first.fits?.(request)) ?? true
  if (publish.as === 'none')
    return {
      first,
      fits,
      generate: (_, requests, signal) => first.generate(requests, signal),
      counters: () => first.counts?.() ?? {},
      close: () => first.close(),
    }

  const publisher = startPublisher(section, role, log)
  // Each caller hears of this error. Until the first call nobody waits for it.
  publisher.catch(() => {})
  const models = new Map<string, PromptedModel>()

  async function modelAt(target: Target, version: number): Promise<PromptedModel> {
    const { targets } = await publisher
    const served = `${version} ${target.baseUrl} ${target.model}`
    const known = models.get(served)
    if (known) return known
    const at = { ...shared, ...target, elsewhere: () => targets.hasOther(version, target.baseUrl) }
    const opened = await endpointOf(name, at, provider, calling)
    models.set(served, opened)
    return opened
  }

  // The time is a little longer than one server's, so that the server can tell why it gave no answer.
  const budgetMs = budgetSeconds * 1000 * SHARE_OF_DEADLINE + 250
  const outOfTime = () =>
    new RlError(`${section.model}: no answer within ${budgetSeconds} s, and servers are away`, {
      code: 'model.deadline',
    })
  const cancelled = () => new RlError(`${section.model}: the call was cancelled`, { code: 'model.aborted' })

  /** Asks a server of the version, and another server if one is away. */
  async function ask(version: number, requests: readonly GenerateRequest[], signal: AbortSignal) {
    const { targets } = await publisher
    await targets.settled(version, publish.expert.ackSeconds * 1000)
    const limit = deadline(budgetMs, signal)
    try {
      for (;;) {
        const target = targets.targetOf(version)
        try {
          return await (await modelAt(target, version)).generate(requests, limit.signal)
        } catch (error) {
          if (limit.expired()) throw outOfTime()
          if (!(error instanceof RlError) || error.code !== 'model.unreachable') throw error
          targets.leaveOut(target.baseUrl)
        }
      }
    } finally {
      limit.clear()
    }
  }

  return {
    first,
    fits,
    generate(version, requests, signal) {
      const answered = publisher.then(({ use }) => use(version, () => ask(version, requests, signal)))
      // It may wait for weights that are brought to a server.
      return unlessAborted(answered, signal, cancelled)
    },
    counters() {
      const sums: Record<string, number> = {}
      for (const model of [first, ...models.values()])
        for (const [name, count] of Object.entries(model.counts?.() ?? {}))
          sums[name] = (sums[name] ?? 0) + count
      return sums
    },
    async close() {
      await publisher.then(
        ({ stop }) => stop(),
        () => {},
      )
      await Promise.all([first, ...models.values()].map((model) => model.close()))
    },
  }
}
