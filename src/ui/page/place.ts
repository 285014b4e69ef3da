/** The address of the page, as signals. */
import { computed, signal } from '@preact/signals'
import { type Route, routeOf } from '../logic/route.ts'
import { isReport, startOfReport } from './report.ts'

/**
 * A report keeps its address in the fragment, since its own address is that of a file. Elsewhere the link's token is in
 * the fragment, and is no part of any later address.
 */
function here(): URL {
  if (isReport) return new URL(location.hash.slice(1) || startOfReport(), 'http://report')
  const url = new URL(location.href)
  url.hash = ''
  return url
}

const address = signal(here())

export const path = computed(() => address.value.pathname)
export const query = computed(() => address.value.searchParams)
export const route = computed((): Route | null => routeOf(path.value))
/** Position that the page shows. Null if it is live. */
export const at = computed(() => query.value.get('at'))

addEventListener('popstate', () => {
  address.value = here()
})

/**
 * Goes to an address of this page. The position that is shown is kept within a run, unless the address has one. An empty
 * one is the end of the log.
 */
export function go(href: string, how: 'push' | 'replace' = 'push'): void {
  const next = new URL(href, address.value)
  if (at.value !== null && !next.searchParams.has('at') && routeOf(next.pathname)?.run === route.value?.run)
    next.searchParams.set('at', at.value)
  if (next.searchParams.get('at') === '') next.searchParams.delete('at')
  set(next, how)
  if (how === 'push') scrollTo(0, 0)
}

/** Changes parts of the query. Null removes one. */
export function ask(
  changes: Readonly<Record<string, string | null>>,
  how: 'push' | 'replace' = 'push',
): void {
  const next = new URL(address.value)
  for (const [name, value] of Object.entries(changes))
    if (value === null || value === '') next.searchParams.delete(name)
    else next.searchParams.set(name, value)
  set(next, how)
}

function set(next: URL, how: 'push' | 'replace'): void {
  if (next.href === address.value.href) return
  const shown = isReport ? `#${next.pathname}${next.search}` : next
  if (how === 'push') history.pushState(null, '', shown)
  else history.replaceState(null, '', shown)
  address.value = next
}

/** Links of this page are followed without a reload. */
addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a') : null
  const wantsOther =
    event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey
  if (!link || wantsOther || link.hasAttribute('download') || link.target !== '') return
  const href = link.getAttribute('href') ?? ''
  if (!href.startsWith('/') || href.startsWith('//')) return
  event.preventDefault()
  go(href)
})
