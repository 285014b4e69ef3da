/** Keys of the page. `?` shows them. */
import { signal } from '@preact/signals'
import { pathOf } from '../logic/route.ts'
import { ask, at, go, route } from './place.ts'

export const helpIsOpen = signal(false)

/** `g` and a letter go to a screen. */
const SCREENS: Readonly<Record<string, readonly [name: string, part: string]>> = {
  r: ['runs', ''],
  o: ['overview', ''],
  i: ['iterations', 'i'],
  e: ['events', 'events'],
}

type Key = { readonly keys: string; readonly does: string }

export const KEYS: readonly Key[] = [
  {
    keys: 'g then o i t a e v j p r',
    does: 'overview, iterations, tasks, actors, events, versions, judge, projections, runs',
  },
  { keys: '[ ]', does: 'the iteration before, the next one' },
  { keys: ', .', does: 'the event before, the next one' },
  { keys: 'L', does: 'live' },
  { keys: 'j k', does: 'down and up in a list' },
  { keys: '/', does: 'filter' },
  { keys: 'y', does: 'copies the link of this view' },
  { keys: '?', does: 'these keys' },
  { keys: 'Esc', does: 'closes' },
]

/** Steps of the footer: by event and by iteration. */
export const steps = signal<{
  readonly event: (by: number) => void
  readonly iteration: (by: number) => void
}>({
  event: () => {},
  iteration: () => {},
})

let isGoing = false

export function startKeys(): void {
  addEventListener('keydown', (event) => {
    const target = event.target as Element | null
    const writes = target?.matches('input:not([type=range]):not([type=checkbox]), textarea, select') ?? false
    if (event.key === 'Escape') {
      helpIsOpen.value = false
      if (writes) (target as HTMLElement).blur()
      return
    }
    if (writes || event.ctrlKey || event.metaKey || event.altKey) return
    if (handle(event.key)) event.preventDefault()
  })
}

function handle(key: string): boolean {
  if (isGoing) {
    isGoing = false
    return goTo(key)
  }
  switch (key) {
    case 'g':
      isGoing = true
      return true
    case '?':
      helpIsOpen.value = !helpIsOpen.value
      return true
    case 'L':
      ask({ at: null })
      return true
    case '[':
    case ']':
      steps.value.iteration(key === '[' ? -1 : 1)
      return true
    case ',':
    case '.':
      steps.value.event(key === ',' ? -1 : 1)
      return true
    case 'y':
      void navigator.clipboard?.writeText(linkOfView())
      return true
    case 'j':
    case 'k':
      return moveFocus(key === 'j' ? 1 : -1)
    case '/': {
      const filter = document.querySelector<HTMLElement>('[data-filter]')
      filter?.focus()
      return filter !== null
    }
    default:
      return false
  }
}

/** Address of the view. A live view is given as it is. */
function linkOfView(): string {
  const url = new URL(location.href)
  if (at.value) url.searchParams.set('at', at.value)
  return url.href
}

function goTo(key: string): boolean {
  const screen = SCREENS[key]
  const run = route.value?.run
  if (!screen) return false
  if (key === 'r') go('/')
  else if (run) go(screen[1] === '' ? pathOf(run) : pathOf(run, screen[1]))
  return true
}

/** Moves the focus among the rows of the list that has it, or into the first list. */
function moveFocus(by: number): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')]
  if (rows.length === 0) return false
  const own = rows.findIndex((row) => row.contains(document.activeElement))
  const next = rows[Math.max(0, Math.min(rows.length - 1, own === -1 ? 0 : own + by))]
  const target = next.matches('a,button') ? next : (next.querySelector<HTMLElement>('a,button') ?? next)
  target.focus()
  target.scrollIntoView({ block: 'nearest' })
  return true
}
