/**
 * Files and frames of a page that are still loading. The page's process reports each when it begins, before
 * its next answer. So at an answer all earlier loads are known.
 */
import type { ProtocolEvent } from './cdp.ts'

/** Longest wait for a load, in real time. */
const GIVE_UP_MS = 3_000

/** A response that nobody reads to its end counts as over this long after it was sent. */
const OVER_MS = 200

/**
 * Requests of the page's own process. Requests for a frame or a worker are the browser's, and have another
 * form of id.
 */
const OWN_REQUEST = /^\d+\.\d+$/

export type Loads = {
  readonly onEvent: (event: ProtocolEvent) => void
  /** Starts a new count of arrivals. */
  readonly begin: () => void
  /** Resolves when nothing is loading any more. Tells whether something came since the last call. */
  readonly settled: () => Promise<boolean>
  /** Resolves when a request is over, or if it is not one of the page's process. */
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
