/**
 * Who may read the pages: a browser that came with the link. The link's token is good for one browser, and is
 * exchanged for a cookie.
 */
import { timingSafeEqual } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import type { HttpEnv } from '../../platform/listen.ts'
import type { Secrets } from './secrets.ts'

export type Session = {
  /** Takes the link's token, and gives its browser the cookie. Returns false if the token is wrong or used. */
  readonly begin: (context: Context<HttpEnv>, token: unknown) => boolean
  readonly isReader: (context: Context<HttpEnv>) => boolean
}

export type SessionOptions = {
  readonly secrets: Secrets
  /** Port of the server. Cookies are shared by all ports of a host, so the name of the cookie tells it. */
  readonly port: () => number
  /** True if a browser has the cookie already. */
  readonly used?: boolean
  /** Hears that a browser got the cookie. */
  readonly onUsed?: () => void
}

export function openSession({ secrets, port, used: before = false, onUsed }: SessionOptions): Session {
  const { token, cookie } = secrets
  let used = before
  const name = () => `rl-ui-${port()}`
  const isReader = (context: Context<HttpEnv>) => equal(getCookie(context, name()) ?? '', cookie)
  return {
    isReader,
    begin(context, given) {
      if (isReader(context)) return true
      if (used || typeof given !== 'string' || !equal(given, token)) return false
      used = true
      onUsed?.()
      setCookie(context, name(), cookie, { httpOnly: true, sameSite: 'Strict', path: '/' })
      return true
    },
  }
}

function equal(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Browsers may send any text. Nothing is loaded from elsewhere, and no text becomes code. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** Refuses requests for other names than this machine's own, so that no site can point its name here. */
export const ownHostAlone: MiddlewareHandler<HttpEnv> = async (context, next) => {
  const host = context.req.header('host') ?? ''
  const origin = context.req.header('origin')
  const site = context.req.header('sec-fetch-site')
  const foreign =
    !isLoopback(`http://${host}`) ||
    (origin !== undefined && origin !== `http://${host}`) ||
    (context.req.path.startsWith('/api/') && site !== undefined && site !== 'same-origin')
  if (foreign) {
    const message = `this page answers on this machine alone, not for '${host.slice(0, 100)}'`
    context.res = context.json({ code: 'ui.foreign', message, hint: 'open the link that was printed' }, 403)
  } else await next()
  for (const [header, value] of Object.entries(HEADERS)) context.header(header, value)
}

function isLoopback(url: string): boolean {
  return URL.canParse(url) && /^(127\.0\.0\.1|localhost|\[::1\])$/.test(new URL(url).hostname)
}
