/** Which server and name answer for a policy version, as the log says: each PolicyPublished until PolicyRetired, else the first endpoint. */
import type { LoggedEvent } from '../../events/catalogue.ts'

export type Target = {
  /** Base URL of an OpenAI-compatible endpoint, e.g. `http://127.0.0.1:8000/v1`. */
  readonly baseUrl: string
  /** The name that it knows. */
  readonly model: string
}

export type Targets = {
  /** Of a published version one of its servers, in turn; of another that of the newest before it. */
  readonly targetOf: (policyVersion: number) => Target
  readonly see: (event: LoggedEvent) => void
  /** Resolves when it is known what answers for a version, or after `ms`. */
  readonly settled: (policyVersion: number, ms: number) => Promise<void>
}

/** Events that `see` wants to hear of. */
export const TARGET_EVENTS = ['PolicyUpdated', 'PolicyPublished', 'PolicyRetired'] as const

type Published = { readonly version: number; readonly name: string; readonly urls: readonly string[] }

/** @param publishing whether versions with weights of their own are brought to servers */
export function openTargets(first: Target, publishing: boolean): Targets {
  const published = new Map<number, Published>()
  const known = new Set<number>([0])
  const waiting = new Map<number, Set<() => void>>()
  let turn = 0

  function settle(version: number): void {
    known.add(version)
    for (const go of waiting.get(version) ?? []) go()
    waiting.delete(version)
  }

  return {
    see({ type, data }) {
      if (type === 'PolicyUpdated' && (data.checkpoint === null || !publishing)) settle(data.version)
      if (type === 'PolicyPublished') {
        const { version, name, replicas, serving } = data
        const urls = replicas.flatMap(({ url, state }) => (state === 'done' ? [url] : []))
        if (serving === version && urls.length > 0) published.set(version, { version, name, urls })
        settle(version)
      }
      if (type === 'PolicyRetired') published.delete(data.version)
    },
    targetOf(policyVersion) {
      let newest: Published | null = null
      for (const one of published.values())
        if (one.version <= policyVersion && one.version > (newest?.version ?? -1)) newest = one
      if (newest === null) return first
      turn = (turn + 1) % 0x7fffffff
      return { baseUrl: newest.urls[turn % newest.urls.length], model: newest.name }
    },
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
