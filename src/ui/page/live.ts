/** New events in the log of the shown run. A hidden tab does not listen. */
import { effect, signal } from '@preact/signals'
import { at, route } from './place.ts'
import { isReport } from './report.ts'

/** The log's last position, and the types of the new events. Null stands for any. */
export type Tick = { readonly position: number; readonly types: readonly string[] | null }

export const ticks = signal<Tick | null>(null)
/** `off` if the page shows the past, or no run. */
export const link = signal<'off' | 'open' | 'lost'>('off')

/** Whether this browser has its session. Nothing is asked before. */
export const isReady = signal(false)

const isHidden = signal(document.hidden)
document.addEventListener('visibilitychange', () => {
  isHidden.value = document.hidden
})

effect(() => {
  const run = route.value?.run ?? null
  if (run === null || isReport || !isReady.value || isHidden.value || at.value !== null) {
    link.value = 'off'
    return
  }
  const source = new EventSource(`/api/r/${encodeURIComponent(run)}/live`)
  source.onopen = () => {
    link.value = 'open'
  }
  source.onmessage = ({ data }) => {
    ticks.value = JSON.parse(data)
  }
  source.onerror = () => {
    link.value = 'lost'
  }
  return () => source.close()
})

/** Whether one of these types is new. */
export function has(tick: Tick, ...types: readonly string[]): boolean {
  return tick.types === null || types.some((type) => tick.types?.includes(type))
}
