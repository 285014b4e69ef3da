/** Whether a page is still at its task: it can never leave its address, and may crash or close itself. */
import { RlError } from 'rlanything/kit'
import type { ProtocolEvent } from './cdp.ts'
import { pageError } from './page-error.ts'

export type Standing = {
  readonly onEvent: (event: ProtocolEvent) => void
  /** Returns why the page is gone, or null. */
  readonly left: () => string | null
  /** @throws RlError `web.page` if the page is gone */
  readonly check: () => void
  readonly isLoading: () => boolean
  /**
   * Waits until the page that `navigate` asks for is loaded.
   *
   * @throws RlError `web.late`, `web.page`, or an error of `navigate`
   */
  readonly load: (deadlineMs: number, navigate: () => Promise<void>) => Promise<void>
}

/** @param mainFrame id of the frame of the page itself */
export function watchStanding(mainFrame: string): Standing {
  let left: string | null = null
  let loaded: (() => void) | null = null
  /** Number of expected loads of the main frame. Any other load takes the page away from its task. */
  let expected = 0

  function leave(why: string): void {
    left ??= why
    loaded?.()
  }

  function check(): void {
    if (left !== null) throw pageError(left)
  }

  return {
    onEvent({ method, params }) {
      if (method === 'Inspector.targetCrashed') leave('it crashed')
      else if (method === 'Inspector.detached') leave('it closed itself')
      else if (method === 'Page.loadEventFired') loaded?.()
      else if (method === 'Page.frameRequestedNavigation') {
        // Reported before the answer to the call that led to it.
        if (params.frameId === mainFrame && !String(params.url).startsWith('javascript:'))
          leave(`it went to ${String(params.url).slice(0, 100)}`)
      } else if (method === 'Page.frameNavigated') {
        const frame = params.frame as { id: string; parentId?: string; url: string }
        if (frame.parentId !== undefined) return
        if (expected > 0) expected--
        else leave(`it went to ${frame.url.slice(0, 100)}`)
      }
    },
    left: () => left,
    check,
    isLoading: () => loaded !== null,
    async load(deadlineMs, navigate) {
      left = null
      expected++
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<void>((_, reject) => {
        timer = setTimeout(
          () => reject(new RlError(`it did not load within ${deadlineMs / 1000} s`, { code: 'web.late' })),
          deadlineMs,
        )
      })
      // It may come before anybody waits for it, while the browser has not even begun.
      late.catch(() => {})
      const whole = new Promise<void>((resolve) => {
        loaded = resolve
      })
      try {
        await navigate()
        await Promise.race([whole, late])
        check()
      } finally {
        clearTimeout(timer)
        loaded = null
      }
    },
  }
}
