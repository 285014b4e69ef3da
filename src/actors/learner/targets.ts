/**
 * Server and name that answer for a version of a role, as the log says. A published version is used until it is
 * retired, else the first endpoint.
 */

import type { LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { itemAt } from '../../item-at.ts'
import type { ModelRole } from './checkpoints.ts'
import { VERSION_EVENTS } from './version-events.ts'
import { openVersionTexts } from './version-texts.ts'

export type Target = {
  /** Base URL of an OpenAI-compatible endpoint, e.g. `http://127.0.0.1:8000/v1`. */
  readonly baseUrl: string
  /** The name that it knows. */
  readonly model: string
  /** Text that stands before each chat. Absent for none. */
  readonly system?: string
}

export type Targets = {
  /**
   * Returns one server of a published version, in turn. For another version it returns a server of the newest one
   * before it.
   */
  readonly targetOf: (version: number) => Target
  /** For a while no call goes to this server if another one has the version. */
  readonly leaveOut: (baseUrl: string) => void
  /** Whether another server, which is not left out, has what answers for a version. */
  readonly hasOther: (version: number, baseUrl: string) => boolean
  readonly see: (event: LoggedEvent) => void
  /** Resolves when it is known what answers for a version, or after `ms`. */
  readonly settled: (version: number, ms: number) => Promise<void>
}

/** Classifies an event about versions of this role. Returns null for any other event. */
export function versionEvent(role: ModelRole, event: LoggedEvent) {
  const { updated, published, retired } = VERSION_EVENTS[role]
  switch (event.type) {
    case updated:
      return { kind: 'updated', event: event as LoggedEvent<'PolicyUpdated'> } as const
    case published:
      return { kind: 'published', event: event as LoggedEvent<'PolicyPublished'> } as const
    case retired:
      return { kind: 'retired', event: event as LoggedEvent<'PolicyRetired'> } as const
    default:
      return null
  }
}

/** Types of the events that `see` wants to hear of. */
export function targetEvents(role: ModelRole) {
  return Object.values(VERSION_EVENTS[role])
}

/** Versions of policy and judge that no server took: an older one answered in their place. */
export function countNotServed(log: LogReader): number {
  let count = 0
  for (const { data } of log.events({ types: ['PolicyPublished', 'RewardModelPublished'] }))
    if (data.serving !== data.version) count++
  return count
}

/** Longest time that the restart of a server may take. */
const AWAY_MS = 60_000

type Published = { readonly version: number; readonly name: string; readonly urls: readonly string[] }

export type TargetsOptions = {
  readonly role: ModelRole
  /** The target as the config names it. */
  readonly first: Target
  /** Whether versions with weights of their own are brought to servers. */
  readonly publishing: boolean
  /** Servers' name of a published version. It is the version's own name if absent. */
  readonly modelOf?: (name: string) => string
}

export function openTargets({ role, first, publishing, modelOf = (name) => name }: TargetsOptions): Targets {
  const published = new Map<number, Published>()
  const known = new Set<number>([0])
  const waiting = new Map<number, Set<() => void>>()
  const away = new Map<string, number>()
  const texts = openVersionTexts()
  let turn = 0

  /** Returns the version itself, or the newest one before it that a server took. Returns 0 if none did. */
  const standIn = (version: number) =>
    Math.max(0, ...[...published.keys()].filter((other) => other <= version))
  const isUp = (url: string) => (away.get(url) ?? 0) <= performance.now()

  function settle(version: number): void {
    known.add(version)
    for (const go of waiting.get(version) ?? []) go()
    waiting.delete(version)
  }

  return {
    see(event) {
      if (role === 'policy') texts.see(event)
      const told = versionEvent(role, event)
      if (told?.kind === 'updated') {
        const { version, checkpoint } = told.event.data
        if (checkpoint === null || !publishing) settle(version)
      } else if (told?.kind === 'published') {
        const { version, name, replicas, serving } = told.event.data
        const urls = replicas.flatMap(({ url, state }) => (state === 'done' ? [url] : []))
        if (serving === version && urls.length > 0) published.set(version, { version, name, urls })
        settle(version)
      } else if (told?.kind === 'retired') published.delete(told.event.data.version)
    },
    targetOf(version) {
      const system = texts.textOf(version)
      const found = published.get(standIn(version))
      if (found === undefined) return system === '' ? first : { ...first, system }
      turn = (turn + 1) % 0x7fffffff
      const up = found.urls.filter(isUp)
      const urls = up.length > 0 ? up : found.urls
      return { baseUrl: itemAt(urls, turn % urls.length), model: modelOf(found.name) }
    },
    leaveOut: (baseUrl) => void away.set(baseUrl, performance.now() + AWAY_MS),
    hasOther: (version, baseUrl) =>
      published.get(standIn(version))?.urls.some((url) => url !== baseUrl && isUp(url)) ?? false,
    settled(version, ms) {
      if (known.has(version)) return Promise.resolve()
      return new Promise((resolve) => {
        const waits = waiting.get(version) ?? new Set()
        waiting.set(version, waits)
        const go = () => {
          clearTimeout(timer)
          waits.delete(go)
          resolve()
        }
        const timer = setTimeout(go, ms)
        waits.add(go)
      })
    },
  }
}
