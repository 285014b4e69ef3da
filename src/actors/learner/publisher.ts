/**
 * Brings new versions of a role's model to its servers. Each version is loaded under a name of its own and gets one
 * canary request. Then comes the switch (PolicyPublished, RewardModelPublished), and the oldest version is unloaded. A
 * server that does not acknowledge in time is left out. If no server acknowledges, the previous version goes on.
 */

import type { TrainedConfig } from '../../config-schema/sections.ts'
import { RlError } from '../../errors.ts'
import type { EventData, LoggedEvent, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { subscribe } from '../../events/subscription.ts'
import { itemAt } from '../../item-at.ts'
import { type AdapterServer, tryAdapter, weightRoutes } from '../../models/openai/adapters.ts'
import { keyIn } from '../../openai-api/key.ts'
import { redact } from '../runtime/redact.ts'
import type { ModelRole } from './checkpoints.ts'
import { sealedFolders } from './sealed-folder.ts'
import { serversOf } from './servers.ts'
import { openTargets, type Targets, targetEvents, versionEvent } from './targets.ts'
import { VERSION_EVENTS } from './version-events.ts'
import { standInOf, versionsInUse } from './versions-in-use.ts'

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
export async function startPublisher(
  { publish, baseUrl, model, expert }: TrainedConfig,
  role: ModelRole,
  log: LogClient,
): Promise<Publisher> {
  const { published, retired } = VERSION_EVENTS[role]
  const routes = weightRoutes(publish)
  const calledBy = routes.calledBy(model)
  const key = keyIn(expert.apiKeyEnv)
  const urls = publish.replicas.length > 0 ? publish.replicas : baseUrl === null ? [] : [baseUrl]
  const servers: readonly AdapterServer[] = urls.map((url) => ({ baseUrl: url, key }))
  const targets = openTargets({
    role,
    first: { baseUrl: itemAt(urls, 0), model },
    publishing: true,
    modelOf: calledBy,
  })
  const loaded = new Map<number, EventData<'PolicyPublished'>>()
  const calls = versionsInUse(standIn)
  const runs = new Map<number, string>()
  const stopping = new AbortController()
  const atAll = serversOf(servers, key, stopping.signal)
  const sealedFolder = sealedFolders()
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

  /** Events of loaded versions may not have come back yet. So the map is asked, not the log. */
  function standIn(version: number): number {
    return standInOf(loaded.values(), version)
  }

  async function drained(version: number): Promise<void> {
    const until = performance.now() + publish.expert.drainSeconds * 1000
    while (calls.isUsed(version) && performance.now() < until && !stopping.signal.aborted)
      await new Promise((go) => setTimeout(go, 50))
  }

  const onCaughtUp = () => void restored().finally(ready)
  const view = await subscribe({ bus: log.bus, run: log.run, types: targetEvents(role), onCaughtUp }, see)
  return {
    targets,
    use: (version, work) =>
      calls.use(version, async () => {
        await begun
        return await work().catch(async (error: unknown) => {
          if (version === 0 || !(error instanceof RlError) || error.code !== 'model.not-found') throw error
          await restored()
          return work()
        })
      }),
    async stop() {
      stopping.abort(new RlError('the publisher was stopped', { code: 'model.aborted' }))
      ready()
      await view.stop()
      await turn
    },
  }
}
