/** Answers the requests of a page. Everything that is loaded comes from here: there is no network. */
import type { Json } from './cdp.ts'
import type { Loads } from './loads.ts'
import { quietly } from './page-error.ts'
import type { Send } from './page-session.ts'

/** A file that a page may load. */
export type Served = { readonly body: Buffer | string; readonly mediaType: string }

/** Returns a file of a page by its path, e.g. `/html/a.html`. Resolves to null if there is none. */
export type Serve = (path: string) => Promise<Served | null>

/** Origin of all pages. Only `Serve` answers there. */
export const ORIGIN = 'http://page.test'

/**
 * Most bytes of files that a page gets between two loads. In a flood of requests each answer would wait here.
 */
const MOST_SERVED = 32 * 1024 * 1024
/** A page uses an answer before the next one comes, unless the page stands still for it. */
const MOST_TURNS_MS = 500
/**
 * Trusted Types: the browser asks a policy of the page's own scripts about each text that becomes markup or a
 * program. It would not ask about programs from `data:` addresses.
 */
const POLICY =
  "require-trusted-types-for 'script'; script-src http: blob: 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval'; worker-src http: blob: data:"

export type PageRequests = {
  /** Answers a request behind the earlier ones. */
  readonly answer: (paused: Json) => void
  /** Another page is loaded. */
  readonly forget: () => void
}

/** @param isLoading whether a page is being loaded: meanwhile the browser has an order of its own */
export function answerRequests(
  send: Send,
  serve: Serve,
  loads: Pick<Loads, 'over'>,
  isLoading: () => boolean,
): PageRequests {
  let served = 0
  /** Requests are answered in their order, so files that are asked for at once also come in that order. */
  let answered: Promise<void> = Promise.resolve()

  async function answer({ requestId, networkId, request }: Json): Promise<void> {
    const { url, method } = request as { url: string; method: string }
    const isOurs = url.startsWith(`${ORIGIN}/`) && method === 'GET' && served < MOST_SERVED
    const file = isOurs ? await fileAt(url).catch(() => null) : null
    served += file?.body.length ?? 0
    await quietly(
      file === null
        ? send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' })
        : send('Fetch.fulfillRequest', {
            requestId,
            responseCode: 200,
            responseHeaders: [
              { name: 'Content-Type', value: file.mediaType },
              ...(file.mediaType.startsWith('text/html')
                ? [{ name: 'Content-Security-Policy', value: POLICY }]
                : []),
            ],
            body: Buffer.from(file.body).toString('base64'),
          }),
    )
    // While a page is loaded the browser has an order of its own.
    if (isLoading()) return
    await loads.over(String(networkId))
    const expression = '__rl.turns?.()'
    await quietly(send('Runtime.evaluate', { expression, awaitPromise: true }, MOST_TURNS_MS))
  }

  /** Rejects if an address cannot be decoded. */
  async function fileAt(url: string): Promise<Served | null> {
    return serve(decodeURIComponent(new URL(url).pathname))
  }

  return {
    answer(paused) {
      answered = answered.then(() => answer(paused))
    },
    forget() {
      served = 0
      answered = Promise.resolve()
    },
  }
}
