/** Which server and name play a policy version: what PolicyPublished says, else the endpoint that was named. */
import type { LoggedEvent } from '../events/catalogue.ts'
import type { Target } from './upstream.ts'

export type Targets = {
  readonly targetOf: (policyVersion: number) => Target
  readonly see: (event: LoggedEvent) => void
}

type Published = { readonly version: number; readonly name: string; readonly urls: readonly string[] }

/** Calls of a published version go to its servers in turn. */
export function openTargets(first: Target): Targets {
  const published = new Map<number, Published>()
  let turn = 0
  return {
    see({ type, data }) {
      if (type === 'PolicyPublished') {
        const { version, name, replicas, serving } = data
        const urls = replicas.flatMap(({ url, state }) => (state === 'done' ? [url] : []))
        if (serving === version && urls.length > 0) published.set(version, { version, name, urls })
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
  }
}
