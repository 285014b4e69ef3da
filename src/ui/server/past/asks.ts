/** Questions on the past of a run, and their answers. A thread answers them. */

import type { HeadContext } from '../../../actors/head/iterations.ts'
import { awaitedBy } from '../../../actors/head/waits.ts'
import type { LogReader } from '../../../events/log-reader.ts'
import { configAt } from '../../../replay/config-at.ts'
import type { DeciderAt, StatesPage, WaitRow } from '../../logic/answers.ts'
import { differences, plainValue } from '../../logic/differences.ts'
import { BUCKET } from './chunks.ts'
import type { Past } from './past.ts'

export type Asks = {
  /** States of all deciders, and the context of one. */
  readonly states: { readonly at: number; readonly context: string | null }
  /** States of all deciders, and what the head waits for. */
  readonly waits: { readonly at: number }
  /** Events by type in at most so many equal parts. */
  readonly counts: { readonly parts: number }
}

export type Answers = {
  readonly states: StatesPage
  readonly waits: {
    readonly built: number
    readonly states: Readonly<Record<string, { readonly state: string; readonly since: number }>>
    readonly waits: readonly WaitRow[] | null
  }
  readonly counts: {
    readonly built: number
    readonly width: number
    readonly types: readonly string[]
    readonly counts: readonly (readonly number[])[]
  }
}

export function answerers(log: LogReader, past: Past): { [A in keyof Asks]: (asked: Asks[A]) => Answers[A] } {
  const built = () => Math.min(1, past.built() / Math.max(1, log.head().position))
  return {
    states: ({ at, context }) => ({
      position: at,
      built: built(),
      deciders: statesAt(log, past, at, context),
    }),
    waits: ({ at }) => ({ built: built(), ...waitsAt(log, past, at) }),
    counts: ({ parts }) => ({ built: built(), ...countsOf(past, log.head().position, parts) }),
  }
}

function statesAt(log: LogReader, past: Past, at: number, asked: string | null): DeciderAt[] | null {
  const [event] = log.events({ from: at, until: at })
  const reads = (interests: ReadonlySet<string>) => event !== undefined && interests.has(event.type)
  const old = past.foldTo(at - 1)
  if (old === null) return null
  const before = old.deciders.map(({ decider, state, context }) => ({
    state: at > 1 ? state() : null,
    context: reads(decider.interests) ? plainValue(context()) : null,
  }))
  const now = past.foldTo(at)
  if (now === null) return null
  return now.deciders.map(({ decider, state, context }, i) => {
    const was = before[i]
    const isRead = reads(decider.interests)
    const plain = isRead || decider.role === asked ? plainValue(context()) : null
    const { list, total } = isRead ? differences(was?.context ?? null, plain) : { list: [], total: 0 }
    return {
      role: decider.role,
      state: state(),
      before: was?.state ?? null,
      since: at <= past.built() ? (past.stateOf(decider.role, at)?.position ?? null) : null,
      reads: isRead,
      changes: list,
      changed: total,
      context: decider.role === asked ? plain : null,
    }
  })
}

function waitsAt(log: LogReader, past: Past, at: number): Omit<Answers['waits'], 'built'> {
  const now = past.foldTo(at)
  if (now === null) return { states: {}, waits: null }
  const time = log.row(at)?.time ?? 0
  const states = Object.fromEntries(
    now.deciders.map(({ decider: { role }, state }) => [
      role,
      { state: state(), since: past.stateOf(role, Math.min(at, past.built()))?.position ?? at },
    ]),
  )
  const head = now.deciders.find(({ decider }) => decider.role === 'head')
  const isOver = !head || /finished|paused|failed/.test(head.state())
  const resumed = log.newest(['RunResumed'], at)?.time ?? 0
  const waits = isOver ? [] : awaitedBy(head.context() as HeadContext, configAt(log, at), resumed)
  return {
    states,
    waits: waits.map(({ owner, waitingFor, from, since, deadline }) => ({
      owner,
      waitingFor,
      from,
      seconds: (time - since) / 1000,
      of: (deadline - since) / 1000,
    })),
  }
}

function countsOf(past: Past, position: number, parts: number): Omit<Answers['counts'], 'built'> {
  const width = Math.max(1, Math.ceil(position / parts / BUCKET)) * BUCKET
  const bars = Math.ceil(position / width)
  const byType = new Map<string, number[]>()
  past.eachBucket((first, type, count) => {
    const bar = Math.floor((first - 1) / width)
    if (bar >= bars) return
    const list = byType.get(type) ?? Array.from({ length: bars }, () => 0)
    list[bar] = (list[bar] ?? 0) + count
    byType.set(type, list)
  })
  const total = (list: readonly number[]) => list.reduce((sum, count) => sum + count, 0)
  const sorted = [...byType].sort(([, a], [, b]) => total(b) - total(a))
  return { width, types: sorted.map(([type]) => type), counts: sorted.map(([, list]) => list) }
}
