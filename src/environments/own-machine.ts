/** Requests to a server without a token, which is for programs of its own machine. */
import type { IncomingHttpHeaders } from 'node:http'

/** Addresses that this machine alone reaches. */
export const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/

/**
 * Returns whether a request may come from a page of another site. A browser names the page as its origin, or the site that it comes
 * from. A page whose own name was pointed to this machine still sends that name as the host.
 */
export function isForeign(headers: IncomingHttpHeaders): boolean {
  const { host = '', origin, 'sec-fetch-site': site } = headers
  return origin !== undefined || (site !== undefined && site !== 'none') || !isOwn(`http://${host}`)
}

function isOwn(url: string): boolean {
  return URL.canParse(url) && LOOPBACK.test(new URL(url).hostname.replace(/^\[|\]$/g, ''))
}
