/** The endpoint of the policy, or the endpoints: each version that was published has servers and a name of its own. */
import type { Config } from '../../config.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { GenerateRequest, Generation } from '../../models/port.ts'
import type { PromptedModel } from '../../models/provider.ts'
import { callBudgetOf } from '../learner/call-budget.ts'
import { endpointOf } from '../learner/endpoint.ts'
import { startPublisher } from './publisher.ts'

export type ServedPolicy = {
  /** As the config names it. */
  readonly first: PromptedModel
  readonly generate: (
    policyVersion: number,
    requests: readonly GenerateRequest[],
    signal: AbortSignal,
  ) => Promise<Generation[]>
  readonly counters: () => Readonly<Record<string, number>>
  readonly close: () => Promise<void>
}

export async function openServedPolicy(config: Config, log: LogClient): Promise<ServedPolicy> {
  const { policy, run } = config
  const budget = run.deadlines.stepSeconds
  const calls = callBudgetOf(log, 'policy', config)
  const first = await endpointOf(policy, config, budget, calls, log.getBlob)
  if (policy.publish.as === 'none')
    return {
      first,
      generate: (_, requests, signal) => first.generate(requests, signal),
      counters: () => first.counts?.() ?? {},
      close: () => first.close(),
    }

  const publisher = startPublisher(config, log)
  // Told to whoever asks for a model; until then nobody waits for it.
  publisher.catch(() => {})
  const models = new Map<string, PromptedModel>()

  async function modelOf(version: number): Promise<PromptedModel> {
    const { targets } = await publisher
    await targets.settled(version, policy.publish.ackSeconds * 1000)
    const target = targets.targetOf(version)
    const name = `${target.baseUrl} ${target.model}`
    const known = models.get(name)
    if (known) return known
    const opened = await endpointOf({ ...policy, ...target }, config, budget, calls, log.getBlob)
    models.set(name, opened)
    return opened
  }

  return {
    first,
    async generate(version, requests, signal) {
      const { use } = await publisher
      return use(version, async () => (await modelOf(version)).generate(requests, signal))
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
