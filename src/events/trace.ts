/**
 * Place of an event in the traces of its run (W3C trace context): an iteration is a trace, a rollout a span of it. Ids follow from
 * names. So an emitter knows them without asking, and a second run of the same work has the same ids.
 */
import { hash } from 'node:crypto'
import type { LoggedEvent, NewEvent } from './catalogue.ts'

export type SpanContext = {
  /** 16 bytes, hex. */
  readonly traceId: string
  /** 8 bytes, hex. */
  readonly spanId: string
}

/** Returns the trace of an iteration. Events outside of any iteration have the trace of `null`. */
export function traceIdOf(run: string, iteration: number | null): string {
  return remembered(iteration === null ? run : `${run}/${iteration}`, 16)
}

export function iterationSpan(run: string, iteration: number): string {
  return remembered(`${run}/iteration/${iteration}`, 8)
}

export function rolloutSpan(run: string, rollout: string): string {
  return remembered(`${run}/rollout/${rollout}`, 8)
}

/** Returns the span of an update, a judgement or a rewrite: neither a rollout nor an iteration. */
export function ownSpan(id: string): string {
  return digest(id, 8)
}

/** Returns the W3C traceparent of a new event. */
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

/** Returns the traceparent of an event. An event of an older log has none: returns what it would be today. */
export function spanContextOf(event: LoggedEvent): SpanContext {
  const [, traceId = '', spanId = ''] = (event.trace ?? traceparentOf(event.run, event.id, event)).split('-')
  return { traceId, spanId }
}

/** The last results are kept: events of one rollout, and of one iteration, come in rows. */
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
