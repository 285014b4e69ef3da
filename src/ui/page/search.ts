/** A search through the log, slice by slice. It ends by itself, if it found enough, or if somebody stops it. */
import { type Signal, useSignal, useSignalEffect } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { EventRow, EventsPage, Fault } from '../logic/answers.ts'
import { fetchAnswer } from './answers.ts'

export type Search = {
  readonly rows: readonly EventRow[]
  /** Last position that was looked at. */
  readonly reached: number
  readonly isRunning: boolean
  /** Position to go on from. Null if all was looked at. */
  readonly next: number | null
  readonly fault: Fault | null
}

const ENOUGH = 200
const NONE: Search = { rows: [], reached: 0, isRunning: false, next: null, fault: null }

/** @param urlOf address of a slice from a position on, or null if nothing is looked for */
export function useSearch(urlOf: (from: number) => string | null): {
  readonly search: Signal<Search>
  readonly stop: () => void
  readonly goOn: () => void
} {
  const search = useSignal<Search>(NONE)
  const running = useRef<AbortController | null>(null)

  async function run(from: number, wanted: number): Promise<void> {
    const own = new AbortController()
    running.current = own
    try {
      for (let next: number | null = from; next !== null && search.peek().rows.length < wanted; ) {
        const url = urlOf(next)
        if (url === null) break
        const page: EventsPage = await fetchAnswer<EventsPage>(url, { signal: own.signal })
        if (own.signal.aborted) return
        next = page.next
        const { rows } = search.peek()
        search.value = {
          rows: [...rows, ...page.rows],
          reached: page.last,
          isRunning: true,
          next,
          fault: null,
        }
      }
      search.value = { ...search.peek(), isRunning: false }
    } catch (fault) {
      if (!own.signal.aborted) search.value = { ...search.peek(), isRunning: false, fault: fault as Fault }
    }
  }

  function stop(): void {
    running.current?.abort()
    search.value = { ...search.peek(), isRunning: false }
  }

  useSignalEffect(() => {
    const isWanted = urlOf(1) !== null
    running.current?.abort()
    search.value = { ...NONE, isRunning: isWanted }
    if (isWanted) void run(1, ENOUGH)
    return () => running.current?.abort()
  })

  return {
    search,
    stop,
    goOn() {
      const { next, rows } = search.peek()
      search.value = { ...search.peek(), isRunning: true }
      if (next !== null) void run(next, rows.length + ENOUGH)
    },
  }
}
