/** Answers of the server, fetched anew if their address changes or if the log has grown by what they depend on. */
import { type Signal, signal, useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Fault } from '../logic/answers.ts'
import { type Tick, ticks } from './live.ts'
import { at, route } from './place.ts'
import { answerOf, isReport } from './report.ts'

export type Answer<T> = {
  readonly data: T | null
  readonly fault: Fault | null
  readonly waits: boolean
}

/** True while the server does not answer. */
export const isGone = signal(false)
/** Whether the shown run lets its pages act on it. */
export const mayAct = signal(true)
/** True if this browser has no session. */
export const isStranger = signal(false)

/** Shortest time between two fetches that follow a growing log. */
const FOLLOW_MS = 500

/** @throws the server's fault */
export async function fetchAnswer<T>(url: string, init?: RequestInit): Promise<T> {
  if (isReport) return heldAnswer(url)
  const response = await fetch(url, init).catch((error: unknown) => {
    // Whoever stopped it knows why.
    if (init?.signal?.aborted) throw error
    isGone.value = true
    throw {
      code: 'ui.gone',
      message: 'the page server does not answer',
      hint: 'start it again: rl ui',
    } satisfies Fault
  })
  isGone.value = false
  const body = await response.json().catch(() => null)
  if (response.ok) return body as T
  if (response.status === 401) isStranger.value = true
  throw (body ?? { code: 'ui.fault', message: `status ${response.status}`, hint: null }) as Fault
}

function heldAnswer<T>(url: string): T {
  const answer = answerOf(url)
  if (answer !== undefined) return answer as T
  throw {
    code: 'ui.not-in-report',
    message: 'this report does not hold that page',
    hint: 'open the run itself: rl ui RUN',
  } satisfies Fault
}

/** Returns the address of an answer on the shown run, at the shown position. */
export function ofRun(path: string, more: Readonly<Record<string, string | null>> = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries({ at: at.value, ...more })) if (value) search.set(name, value)
  const text = search.toString()
  return `/api/r/${encodeURIComponent(route.value?.run ?? 'latest')}${path}${text === '' ? '' : `?${text}`}`
}

/** Keeps the last answer while the server is silent. */
function afterFault<T>(last: Answer<T>, fault: Fault): Answer<T> {
  if (fault.code === 'ui.gone' && last.data !== null) return { ...last, waits: false }
  return { data: null, fault, waits: false }
}

/**
 * Returns the answer of an address. While it is fetched anew the last one stays.
 * @param isStale whether new events change the answer. Left out: none does.
 * @param againMs time after which an answer is fetched again, e.g. while something is built. Null: not again.
 */
export function useAnswer<T>(
  urlOf: () => string | null,
  isStale?: (tick: Tick) => boolean,
  againMs?: (data: T) => number | null,
): Signal<Answer<T>> {
  const answer = useSignal<Answer<T>>({ data: null, fault: null, waits: true })
  const state = useRef({ url: '', timer: 0, fetching: false, again: false, last: 0 })

  async function load(url: string, isNew: boolean): Promise<void> {
    const own = state.current
    own.fetching = true
    own.last = performance.now()
    let wait: number | null = null
    if (isNew) answer.value = { ...answer.peek(), waits: true }
    try {
      const data = await fetchAnswer<T>(url)
      if (own.url === url) answer.value = { data, fault: null, waits: false }
      wait = againMs?.(data) ?? null
    } catch (fault) {
      if (own.url === url) answer.value = afterFault(answer.peek(), fault as Fault)
    }
    own.fetching = false
    if (own.url !== url) return
    if (own.again) follow(url)
    else if (wait !== null) follow(url, wait)
  }

  function follow(url: string, leastMs = FOLLOW_MS): void {
    const own = state.current
    own.again = own.fetching
    if (own.fetching || own.timer !== 0) return
    const wait = Math.max(0, own.last + leastMs - performance.now())
    own.timer = setTimeout(() => {
      own.timer = 0
      if (own.url === url) void load(url, false)
    }, wait)
  }

  useSignalEffect(() => {
    const url = urlOf()
    const own = state.current
    if (url === null || url === own.url) return
    own.url = url
    own.again = false
    void load(url, true)
  })
  useSignalEffect(() => {
    const tick = ticks.value
    if (tick !== null && at.peek() === null && isStale?.(tick) && state.current.url !== '')
      follow(state.current.url)
  })
  useEffect(() => () => clearTimeout(state.current.timer), [])
  return answer
}
