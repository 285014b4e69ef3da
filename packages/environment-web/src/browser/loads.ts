/**
 * Files and frames of a page that are on their way. The page's process tells of each when it begins, before it answers what it is asked
 * next, so that at an answer all are known that began before.
 */
import type { ProtocolEvent } from './cdp.ts'

/** What does not come within so long, of real time, is waited for no more. */
const GIVE_UP_MS = 3_000

/** What nobody reads to its end is over when it has been sent. */
const OVER_MS = 200

/** Requests that the page's process makes; those for a frame or a worker are the browser's, and are known by their frame or worker. */
const OWN_REQUEST = /^\d+\.\d+$/

export type Loads = {
  readonly onEvent: (event: ProtocolEvent) => void
  /** From here on it counts whether something came. */
  readonly begin: () => void
  /** Resolves when all that is on its way has come; whether something came since it was last asked. */
  readonly settled: () => Promise<boolean>
  /** Resolves when a request of the page's process is over, or is no such one. */
  readonly over: (requestId: string) => Promise<void>
  /** Another page is loaded. */
  readonly forget: () => void
}

export function createLoads(): Loads {
  const open = new Set<string>()
  const givenUp = new Set<string>()
  let some = false
  let wake: (() => void) | null = null
  const watched = new Map<string, () => void>()

  function begin(id: string): void {
    if (!givenUp.has(id)) open.add(id)
    some = true
  }
  function end(id: string): void {
    if (open.delete(id)) some = true
    if (open.size === 0) wake?.()
    watched.get(id)?.()
  }

  return {
    onEvent({ method, params }) {
      const { requestId, frameId } = params
      if (method === 'Network.requestWillBeSent' && OWN_REQUEST.test(String(requestId)))
        begin(`file ${requestId}`)
      else if (method === 'Network.loadingFinished' || method === 'Network.loadingFailed')
        end(`file ${requestId}`)
      else if (method === 'Page.frameStartedLoading') begin(`frame ${frameId}`)
      else if (method === 'Page.frameStoppedLoading' || method === 'Page.frameDetached')
        end(`frame ${frameId}`)
    },
    begin() {
      some = false
    },
    async settled() {
      if (open.size > 0) {
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          wake = resolve
          timer = setTimeout(resolve, GIVE_UP_MS)
        })
        clearTimeout(timer)
        wake = null
        for (const id of open) givenUp.add(id)
        open.clear()
      }
      const came = some
      some = false
      return came
    },
    async over(requestId) {
      const id = `file ${requestId}`
      if (!open.has(id)) return
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        watched.set(id, resolve)
        timer = setTimeout(resolve, OVER_MS)
      })
      clearTimeout(timer)
      watched.delete(id)
    },
    forget() {
      open.clear()
      givenUp.clear()
    },
  }
}
