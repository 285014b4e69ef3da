/**
 * Brings new policy versions to the servers of the policy: load under a name of its own, one canary request, then the switch
 * (PolicyPublished), and the oldest is unloaded. A server that does not acknowledge in time is left out; where none does, the
 * version before goes on.
 */
import { resolve } from 'node:path'
import type { Config } from '../../config.ts'
import { explain, RlError } from '../../errors.ts'
import type { EventData, LoggedEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { subscribe } from '../../events/subscription.ts'
import { type AdapterServer, loadAdapter, tryAdapter, unloadAdapter } from '../../models/openai/adapters.ts'
import { checkpointFolder } from '../learner/checkpoints.ts'
import { redact } from '../runtime/redact.ts'
import { openTargets, TARGET_EVENTS, type Targets } from './targets.ts'

type Replica = EventData<'PolicyPublished'>['replicas'][number]
type Updated = LoggedEvent<'PolicyUpdated'>

export type Publisher = {
  readonly targets: Targets
  /** Counts a call of a version: it is not unloaded before the call is over, or `drainSeconds` have passed. */
  readonly use: <T>(policyVersion: number, work: () => Promise<T>) => Promise<T>
  readonly stop: () => Promise<void>
}

/** Follows the run's versions and publishes each that has weights. */
export async function startPublisher(config: Config, log: LogClient): Promise<Publisher> {
  const { publish, baseUrl, model, apiKeyEnv } = config.policy
  const key = process.env[apiKeyEnv] || null
  const urls = publish.replicas.length > 0 ? publish.replicas : baseUrl === null ? [] : [baseUrl]
  const servers: readonly AdapterServer[] = urls.map((url) => ({ baseUrl: url, key }))
  const targets = openTargets({ baseUrl: urls[0], model }, true)
  const loaded = new Map<number, EventData<'PolicyPublished'>>()
  const inUse = new Map<number, number>()
  const stopping = new AbortController()
  let turn: Promise<void> = Promise.resolve()

  function see(event: LoggedEvent): void {
    targets.see(event)
    if (event.type === 'PolicyPublished') loaded.set(event.data.version, event.data)
    if (event.type === 'PolicyRetired') loaded.delete(event.data.version)
    if (event.type === 'PolicyUpdated' && event.data.checkpoint !== null && event.data.version > 0)
      turn = turn.then(() => bring(event)).catch(() => {})
  }

  async function bring(updated: Updated): Promise<void> {
    const { version } = updated.data
    const checkpoint = updated.data.checkpoint!
    const [known] = await log.positionsOf([`PolicyPublished/${version}`])
    if (known !== null || stopping.signal.aborted) return
    const startedMs = performance.now()
    const name = `${log.run}-v${version}-${checkpoint.sha256.slice(0, 8)}`
    const path = resolve(checkpointFolder(updated.run, checkpoint))
    const replicas = await atAll(publish.ackSeconds, async (server, signal) => {
      await loadAdapter(server, { name, path }, signal)
      try {
        await tryAdapter(server, name, signal)
      } catch (error) {
        // Nobody will ask for it: it only takes up room.
        await unloadAdapter(server, name, signal).catch(() => {})
        throw error
      }
    })
    if (stopping.signal.aborted) return
    const done = replicas.some(({ state }) => state === 'done')
    const before = Math.max(0, ...[...loaded.values()].map(({ serving }) => serving))
    const data: EventData<'PolicyPublished'> = {
      ...{ version, name, kind: publish.as === 'model' ? 'model' : 'lora', checkpoint, replicas },
      serving: done ? version : before,
      timing: { durationMs: Math.round(performance.now() - startedMs) },
    }
    await log.append([{ type: 'PolicyPublished', data }], { cause: updated.id })
    loaded.set(version, data)
    const old = [...loaded.keys()].filter((other) => other <= version - publish.keep)
    for (const one of old) await retire(one)
  }

  async function retire(version: number): Promise<void> {
    const published = loaded.get(version)!
    const startedMs = performance.now()
    await drained(version)
    const replicas = await atAll(publish.ackSeconds, (server, signal) =>
      unloadAdapter(server, published.name, signal),
    )
    loaded.delete(version)
    const timing = { durationMs: Math.round(performance.now() - startedMs) }
    await log.append([{ type: 'PolicyRetired', data: { version, name: published.name, replicas, timing } }])
  }

  /** What becomes of each server, all at once, each within the time. */
  function atAll(
    withinSeconds: number,
    work: (server: AdapterServer, signal: AbortSignal) => Promise<void>,
  ): Promise<Replica[]> {
    return Promise.all(
      servers.map(async (server): Promise<Replica> => {
        const late = AbortSignal.timeout(withinSeconds * 1000)
        const url = redact(server.baseUrl)
        try {
          await work(server, AbortSignal.any([late, stopping.signal]))
          return { url, state: 'done', error: null }
        } catch (error) {
          if (late.aborted) return { url, state: 'timed-out', error: `no answer within ${withinSeconds} s` }
          return { url, state: 'refused', error: redact(explain(error), key === null ? [] : [key]) }
        }
      }),
    )
  }

  async function drained(version: number): Promise<void> {
    const until = performance.now() + publish.drainSeconds * 1000
    while ((inUse.get(version) ?? 0) > 0 && performance.now() < until && !stopping.signal.aborted)
      await new Promise((go) => setTimeout(go, 50))
  }

  const view = await subscribe({ bus: log.bus, run: log.run, types: [...TARGET_EVENTS] }, see)
  return {
    targets,
    async use(version, work) {
      inUse.set(version, (inUse.get(version) ?? 0) + 1)
      try {
        return await work()
      } finally {
        inUse.set(version, inUse.get(version)! - 1)
      }
    },
    async stop() {
      stopping.abort(new RlError('the publisher was stopped', { code: 'model.aborted' }))
      await view.stop()
      await turn
    },
  }
}
