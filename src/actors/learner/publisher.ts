/**
 * Brings new versions of a role's model to its servers. Each version is loaded under a name of its own and gets one
 * canary request. Then comes the switch (PolicyPublished, RewardModelPublished), and the oldest version is unloaded. A
 * server that does not acknowledge in time is left out. If no server acknowledges, the previous version goes on.
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../../config.ts'
import { explain, RlError } from '../../errors.ts'
import type { EventData, LoggedEvent, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { subscribe } from '../../events/subscription.ts'
import { folderDigest } from '../../models/local/checkpoint.ts'
import { type AdapterServer, tryAdapter, weightRoutes } from '../../models/openai/adapters.ts'
import { keyIn } from '../../openai-api/key.ts'
import { redact } from '../runtime/redact.ts'
import { type Checkpoint, checkpointFolder, type ModelRole } from './checkpoints.ts'
import { openTargets, type Targets, targetEvents, versionEvent } from './targets.ts'
import { VERSION_EVENTS } from './version-events.ts'

type Replica = EventData<'PolicyPublished'>['replicas'][number]
type Updated = LoggedEvent<'PolicyUpdated'>

export type Publisher = {
  readonly targets: Targets
  /**
   * Counts a call of a version, which waits for what `startPublisher` brings back. The version is not unloaded before
   * the call is over, or `drainSeconds` have passed. If a server does not know a version that it had, the versions are
   * loaded once more. Then the call is made again.
   */
  readonly use: <T>(version: number, work: () => Promise<T>) => Promise<T>
  readonly stop: () => Promise<void>
}

/**
 * Follows the versions of a role's model and publishes each that has weights. Versions that the log calls served are
 * loaded once more: a restarted server has none of them.
 *
 * @throws RlError `config.key` for a key that no header can hold
 */
export async function startPublisher(config: Config, role: ModelRole, log: LogClient): Promise<Publisher> {
  const { publish, baseUrl, model, expert } = role === 'policy' ? config.policy : config.rewardModel
  const { published, retired } = VERSION_EVENTS[role]
  const routes = weightRoutes(publish)
  const calledBy = routes.calledBy(model)
  const key = keyIn(expert.apiKeyEnv)
  const urls = publish.replicas.length > 0 ? publish.replicas : baseUrl === null ? [] : [baseUrl]
  const servers: readonly AdapterServer[] = urls.map((url) => ({ baseUrl: url, key }))
  const targets = openTargets({
    role,
    first: { baseUrl: urls[0], model },
    publishing: true,
    modelOf: calledBy,
  })
  const loaded = new Map<number, EventData<'PolicyPublished'>>()
  const inUse = new Map<number, number>()
  const runs = new Map<number, string>()
  const stopping = new AbortController()
  let ready = () => {}
  const begun = new Promise<void>((resolve) => {
    ready = resolve
  })
  // Versions that are brought back come first. So the newest ones stay if weights replace others.
  let turn = begun

  function see(event: LoggedEvent): void {
    targets.see(event)
    const told = versionEvent(role, event)
    if (told?.kind === 'published') loaded.set(told.event.data.version, told.event.data)
    if (told?.kind === 'retired') loaded.delete(told.event.data.version)
    if (told?.kind !== 'updated') return
    const { checkpoint, version } = told.event.data
    runs.set(version, told.event.run)
    if (checkpoint !== null && version > 0) turn = turn.then(() => bring(told.event)).catch(() => {})
  }

  let restoring: Promise<void> | null = null

  /** Restores all versions once, for any number of calls that ask for it. */
  function restored(): Promise<void> {
    restoring ??= restore().finally(() => {
      restoring = null
    })
    return restoring
  }

  async function restore(): Promise<void> {
    for (const { version, name, checkpoint, replicas } of loaded.values()) {
      const place = await sealedFolder(runs.get(version) ?? log.run, checkpoint)
      await atAll(publish.expert.ackSeconds, async (server, signal) => {
        const had = replicas.some(({ url, state }) => state === 'done' && url === redact(server.baseUrl))
        if (had) await routes.load(server, { name, path: place() }, signal)
      })
    }
  }

  async function bring(updated: Updated): Promise<void> {
    const { version } = updated.data
    const checkpoint = updated.data.checkpoint!
    const [known] = await log.positionsOf([`${published}/${version}`])
    if (known !== null || stopping.signal.aborted) return
    const startedMs = performance.now()
    const label = role === 'policy' ? log.run : `${log.run}-${role}`
    const name = `${label}-v${version}-${checkpoint.sha256.slice(0, 8)}`
    const place = await sealedFolder(updated.run, checkpoint)
    const replicas = await atAll(publish.expert.ackSeconds, async (server, signal) => {
      await routes.load(server, { name, path: place() }, signal)
      try {
        await tryAdapter(server, calledBy(name), signal)
      } catch (error) {
        // Nobody will ask for this version: it only takes up room.
        await routes.unload(server, name, signal).catch(() => {})
        throw error
      }
    })
    if (stopping.signal.aborted) return
    const done = replicas.some(({ state }) => state === 'done')
    const data: EventData<'PolicyPublished'> = {
      version,
      name,
      kind: publish.as === 'model' ? 'model' : 'lora',
      checkpoint,
      replicas,
      serving: done ? version : standIn(version),
      timing: { durationMs: Math.round(performance.now() - startedMs) },
    }
    await log.append([{ type: published, data } as NewEvent], { cause: updated.id })
    loaded.set(version, data)
    const oldest = version - publish.expert.keep + 1
    const kept = standIn(oldest)
    const old = [...loaded.keys()].filter((other) => other < oldest && other !== kept)
    for (const one of old) await retire(one)
  }

  async function retire(version: number): Promise<void> {
    const { name } = loaded.get(version)!
    const startedMs = performance.now()
    await drained(version)
    loaded.delete(version)
    // What is being brought back would otherwise be there behind its unloading.
    await restoring
    const replicas = await atAll(publish.expert.ackSeconds, (server, signal) =>
      routes.unload(server, name, signal),
    )
    const timing = { durationMs: Math.round(performance.now() - startedMs) }
    const data: EventData<'PolicyRetired'> = { version, name, replicas, timing }
    await log.append([{ type: retired, data } as NewEvent])
  }

  /** The version that answers for another: itself, or the newest before it that a server took. Events of these may not have come back yet. */
  function standIn(version: number): number {
    const taken = [...loaded.values()].filter((one) => one.serving === one.version && one.version <= version)
    return Math.max(0, ...taken.map((one) => one.version))
  }

  /** Works at all servers at once, each within the time. Returns the state of each server. */
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

  const digests = new Map<string, string | null>()

  /**
   * Returns a function that tells the folder of an event's weights, or throws `model.corrupt`. The check is made once,
   * before a server's time begins. A folder that is only on the servers' machines, or whose files nothing here reads,
   * is theirs to check.
   */
  async function sealedFolder(run: string, checkpoint: Checkpoint): Promise<() => string> {
    const folder = resolve(checkpointFolder(run, checkpoint))
    if (!digests.has(folder) && existsSync(folder))
      digests.set(folder, await folderDigest(folder).catch(() => null))
    const found = digests.get(folder) ?? null
    return function place() {
      if (found === null || found === checkpoint.sha256) return folder
      throw new RlError(`the weights in ${folder} are not those of the event`, { code: 'model.corrupt' })
    }
  }

  async function drained(version: number): Promise<void> {
    const until = performance.now() + publish.expert.drainSeconds * 1000
    const isUsed = () => [...inUse].some(([asked, calls]) => calls > 0 && standIn(asked) === version)
    while (isUsed() && performance.now() < until && !stopping.signal.aborted)
      await new Promise((go) => setTimeout(go, 50))
  }

  const onCaughtUp = () => void restored().finally(ready)
  const view = await subscribe({ bus: log.bus, run: log.run, types: targetEvents(role), onCaughtUp }, see)
  return {
    targets,
    async use(version, work) {
      inUse.set(version, (inUse.get(version) ?? 0) + 1)
      try {
        await begun
        return await work().catch(async (error: unknown) => {
          if (version === 0 || !(error instanceof RlError) || error.code !== 'model.not-found') throw error
          await restored()
          return work()
        })
      } finally {
        inUse.set(version, inUse.get(version)! - 1)
      }
    },
    async stop() {
      stopping.abort(new RlError('the publisher was stopped', { code: 'model.aborted' }))
      ready()
      await view.stop()
      await turn
    },
  }
}
