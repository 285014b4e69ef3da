/** Keys of the page. `?` shows them. */
import { signal } from '@preact/signals'
import { pathOf } from '../logic/route.ts'
import { ask, at, go, route } from './place.ts'

export const helpIsOpen = signal(false)
export const paletteIsOpen = signal(false)
/** Whether the `rl` command of the view is shown. */
export const commandIsOpen = signal(false)

/** `g` and a letter go to a screen. */
const SCREENS: Readonly<Record<string, readonly [name: string, part: string]>> = {
  r: ['runs', ''],
  o: ['overview', ''],
  i: ['iterations', 'i'],
  t: ['tasks', 'tasks'],
  v: ['versions', 'versions'],
  p: ['projections', 'projections'],
  j: ['judge', 'judge'],
  e: ['events', 'events'],
  a: ['actors', 'actors'],
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
  { keys: 'j k', does: 'down and up in a list, or the next step of a rollout and the one before' },
  { keys: 'Space', does: 'plays the steps of a rollout' },
  { keys: 'h l', does: 'the rollout, task or version before, the next one' },
  { keys: 'c', does: 'compares the chosen runs' },
  { keys: 'p', does: 'pauses the run, or resumes it' },
  { keys: 'f', does: 'makes a fork before the verdict on the chosen step, or at the shown event' },
  { keys: '/', does: 'filter' },
  { keys: 'y', does: 'copies the link of this view' },
  { keys: 'x', does: 'the rl command of this view' },
  { keys: 'Ctrl-K or ⌘K', does: 'goes to a position, rollout, task, version, screen or run' },
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

/** Effects of j, k and Space on the page of a rollout. Null elsewhere. */
export const playback = signal<{
  readonly step: (by: number) => void
  readonly toggle: () => void
} | null>(null)

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
    if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey) {
      event.preventDefault()
      paletteIsOpen.value = true
      return
    }
    if (writes || event.ctrlKey || event.metaKey || event.altKey) return
    if (document.querySelector('dialog[open]')) return
    // Space presses a button that has the focus.
    if (event.key === ' ' && target?.matches('button, input')) return
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
    case 'x':
      commandIsOpen.value = true
      return true
    case 'y':
      void navigator.clipboard?.writeText(linkOfView())
      return true
    case ' ':
      playback.value?.toggle()
      return playback.value !== null
    case 'j':
    case 'k':
      if (playback.value !== null) {
        playback.value.step(key === 'j' ? 1 : -1)
        return true
      }
      return moveFocus(key === 'j' ? 1 : -1)
    case 'h':
    case 'l': {
      const other = document.querySelector<HTMLElement>(`[data-walk=${key === 'h' ? 'before' : 'after'}]`)
      other?.click()
      return other !== null
    }
    case 'c': {
      const compare = document.querySelector<HTMLElement>('[data-compare]')
      compare?.click()
      return compare !== null
    }
    case 'p':
    case 'f': {
      const action = actionButton(key)
      action?.click()
      return action !== null
    }
    case '/': {
      const filter = document.querySelector<HTMLElement>('[data-filter]')
      filter?.focus()
      return filter !== null
    }
    default:
      return false
  }
}

/** Button of the row that has the focus, of the chosen row, or of the frame. */
function actionButton(key: string): HTMLElement | null {
  const row = document.activeElement?.closest('[data-row]') ?? document.querySelector('[aria-selected=true]')
  const button = `[data-key=${key}]`
  return (
    row?.querySelector<HTMLElement>(button) ?? document.querySelector(`.bar ${button}, .machine ${button}`)
  )
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
