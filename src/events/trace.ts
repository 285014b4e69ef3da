/**
 * Where an event stands in the traces of its run (W3C trace context): an iteration is a trace, a rollout a span of it. Ids follow
 * from names, so whoever emits an event knows them without asking, and a second run of the same work has the same.
 */
import { hash } from 'node:crypto'
import type { LoggedEvent, NewEvent } from './catalogue.ts'

export type SpanContext = {
  /** 16 bytes, hex. */
  readonly traceId: string
  /** 8 bytes, hex. */
  readonly spanId: string
}

/** The trace of an iteration; events outside of any have one of their own, that of `null`. */
export function traceIdOf(run: string, iteration: number | null): string {
  return remembered(iteration === null ? run : `${run}/${iteration}`, 16)
}

export function iterationSpan(run: string, iteration: number): string {
  return remembered(`${run}/iteration/${iteration}`, 8)
}

export function rolloutSpan(run: string, rollout: string): string {
  return remembered(`${run}/rollout/${rollout}`, 8)
}

/** Of what is neither a rollout's nor an iteration's: an update, a judgement, a rewrite. */
export function ownSpan(id: string): string {
  return digest(id, 8)
}

/** W3C traceparent of an event that is about to be emitted. */
export function traceparentOf(run: string, id: string, { type, data }: NewEvent): string {
  const iteration = 'iteration' in data ? (data.iteration ?? null) : null
  const spanId =
    type === 'TrajectoryJudged'
      ? ownSpan(id)
      : 'rollout' in data
        ? rolloutSpan(run, data.rollout)
        : iteration !== null && type.startsWith('Iteration')
          ? iterationSpan(run, iteration)
          : ownSpan(id)
  return `00-${traceIdOf(run, iteration)}-${spanId}-01`
}

/** That of the event itself; for one of an older log, what it would be today. */
export function spanContextOf(event: LoggedEvent): SpanContext {
  const [, traceId, spanId] = (event.trace ?? traceparentOf(event.run, event.id, event)).split('-')
  return { traceId, spanId }
}

/** Events of one rollout, and of one iteration, come in rows. */
const kept = new Map<string, string>()
const KEPT = 64

function remembered(text: string, bytes: number): string {
  const known = kept.get(text)
  if (known !== undefined) return known
  const made = digest(text, bytes)
  if (kept.size >= KEPT) kept.clear()
  kept.set(text, made)
  return made
}

function digest(text: string, bytes: number): string {
  return hash('sha256', text).slice(0, 2 * bytes)
}
