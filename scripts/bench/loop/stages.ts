/** Time of an iteration by stage, from the times and measured durations in its events. */
import type { LoggedEvent } from '../../../src/events/catalogue.ts'
import type { LogReader } from '../../../src/events/log-reader.ts'

/** Milliseconds since 1970. */
export type Span = readonly [fromMs: number, toMs: number]

export const STAGES = ['rollouts', 'judging', 'policy update', 'reward-model update'] as const
export type Stage = (typeof STAGES)[number]

export type IterationTimes = {
  readonly iteration: number
  readonly span: Span
  /** When work of a stage was going on: no two spans of a stage touch. */
  readonly busy: Readonly<Record<Stage, readonly Span[]>>
  readonly rollouts: number
  readonly judgedSteps: number
  /**
   * Tokens that policy and judge generated, that the policy read without the cache, and that both trained.
   */
  readonly tokens: { readonly generated: number; readonly fed: number; readonly trained: number }
}

/** Completed iterations, the evaluation before the first left out. */
export function iterationTimes(log: LogReader): IterationTimes[] {
  const done: IterationTimes[] = []
  let open: Draft | null = null
  for (const event of log.events()) {
    if (event.type === 'IterationStarted') open = event.data.iteration === 0 ? null : draft(event)
    else if (open !== null && event.type === 'IterationCompleted') {
      done.push(close(open, event.time))
      open = null
    } else if (open !== null) enter(open, event)
  }
  return done
}

export function lengthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, [from, to]) => sum + to - from, 0)
}

/** Merges overlapping spans. */
export function union(spans: readonly Span[]): Span[] {
  const merged: [number, number][] = []
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1)
    if (last && from <= last[1]) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return merged
}

/** Returns the intersection. Neither argument may have overlaps. */
export function intersection(a: readonly Span[], b: readonly Span[]): Span[] {
  return a.flatMap(([from, to]) =>
    b.flatMap(([otherFrom, otherTo]): Span[] => {
      const [start, end] = [Math.max(from, otherFrom), Math.min(to, otherTo)]
      return start < end ? [[start, end]] : []
    }),
  )
}

type Draft = {
  readonly iteration: number
  readonly startMs: number
  readonly spans: Record<Stage, Span[]>
  rollouts: number
  judgedSteps: number
  readonly tokens: { generated: number; fed: number; trained: number }
}

function draft({ data, time }: LoggedEvent<'IterationStarted'>): Draft {
  return {
    iteration: data.iteration,
    startMs: time,
    spans: { rollouts: [], judging: [], 'policy update': [], 'reward-model update': [] },
    rollouts: 0,
    judgedSteps: 0,
    tokens: { generated: 0, fed: 0, trained: 0 },
  }
}

const BYTES_PER_TOKEN = 4

function enter(open: Draft, { type, data, time }: LoggedEvent): void {
  const worked = (stage: Stage, ms: unknown) => {
    if (typeof ms === 'number') open.spans[stage].push([time - ms, time])
  }
  if (type === 'TrajectoryCompleted') {
    worked('rollouts', data.timing?.durationMs)
    open.rollouts++
    open.tokens.generated += data.usage.completionTokens
    open.tokens.fed += data.usage.promptTokens - data.usage.cachedTokens
  } else if (type === 'StepScored') {
    worked('judging', data.timing?.judgeMs)
    open.judgedSteps++
    for (const { tokensI32 } of data.judgements)
      open.tokens.generated += tokensI32.byteLength / BYTES_PER_TOKEN
  } else if (type === 'PolicyUpdated' || type === 'RewardModelUpdated') {
    worked(type === 'PolicyUpdated' ? 'policy update' : 'reward-model update', data.timing?.durationMs)
    open.tokens.trained += data.metrics.tokens ?? 0
  }
}

function close({ startMs, spans, ...rest }: Draft, endMs: number): IterationTimes {
  const within: readonly Span[] = [[startMs, endMs]]
  const busy = Object.fromEntries(
    STAGES.map((stage) => [stage, intersection(union(spans[stage]), within)]),
  ) as unknown as Record<Stage, readonly Span[]>
  return { ...rest, span: [startMs, endMs], busy }
}
