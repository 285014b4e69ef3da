/**
 * Iterations as traces for any OpenTelemetry viewer: OTLP in JSON, as collectors take it on /v1/traces. Model
 * calls have the attributes of the GenAI semantic conventions. Ids come from the events, so an export is
 * always the same.
 */
import { loggedConfig } from '../config.ts'
import type { EventData, LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { iterationSpan, ownSpan, rolloutSpan, spanContextOf } from '../events/trace.ts'
import { causeOf } from './causes.ts'

type Value = string | number | boolean
type Attribute = { readonly key: string; readonly value: object }

export type Span = {
  /** 16 bytes, hex. */
  readonly traceId: string
  /** 8 bytes, hex. */
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  /** 1 within the process, 3 a call of another. */
  readonly kind: 1 | 3
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly status: { readonly code: 1 | 2; readonly message?: string }
}

const CLOSING = [
  'IterationCompleted',
  'TrajectoryCompleted',
  'RolloutFailed',
  'TrajectoryJudged',
  'TaskProposed',
  'PolicyUpdated',
  'RewardModelUpdated',
  'EvaluationCompleted',
] as const

/**
 * Yields one span for each event that ends something. Its parent is the span around it. An iteration is a
 * trace.
 */
export function* spansOf(log: LogReader): IterableIterator<Span> {
  const { last } = startsOf(log)
  const { policy } = loggedConfig(last.data.config)
  for (const event of log.events({ types: CLOSING })) {
    if (!('iteration' in event.data) || event.data.iteration === undefined) continue
    const { iteration } = event.data
    const cause = causeOf(log, event)
    const { traceId: trace, spanId: id } = spanContextOf(event)
    const parent = iterationSpan(event.run, iteration)
    const shared = { trace, id, cause, event }
    switch (event.type) {
      case 'IterationCompleted': {
        const { accuracy } = event.data
        const begun = log.byKey(`IterationStarted/${iteration}`) ?? cause
        yield span(
          { ...shared, cause: begun, parent: '', name: `iteration ${iteration}` },
          {
            'rl.accuracy.successes': accuracy.successes,
            'rl.accuracy.n': accuracy.n,
          },
        )
        break
      }
      case 'TrajectoryCompleted':
      case 'RolloutFailed': {
        const { rollout } = event.data
        const failed = event.type === 'RolloutFailed'
        yield span(
          { ...shared, parent, name: `rollout ${rollout}` },
          {
            'rl.rollout': rollout,
            'rl.task': event.data.task,
            ...(event.type === 'TrajectoryCompleted' ? playedAttributes(event.data) : {}),
          },
          failed ? event.data.error : undefined,
        )
        if (failed) break
        const { usage, policyVersion } = event.data
        const model = policy.model
        yield span(
          {
            ...shared,
            id: ownSpan(`${event.run}/chat/${rollout}`),
            parent: id,
            name: `chat ${model}`,
            kind: 3,
          },
          {
            'gen_ai.operation.name': 'chat',
            'gen_ai.provider.name': policy.provider,
            'gen_ai.request.model': model,
            'gen_ai.response.model': `${model}@${policyVersion}`,
            'gen_ai.usage.input_tokens': usage.promptTokens,
            'gen_ai.usage.output_tokens': usage.completionTokens,
          },
        )
        break
      }
      case 'TrajectoryJudged': {
        const { rollout, rewardModelVersion, meanVerdict } = event.data
        yield span(
          {
            ...shared,
            cause: log.byKey(`Rollout/${rollout}`) ?? cause,
            parent: rolloutSpan(event.run, rollout),
            name: `judge ${rollout}`,
          },
          { 'rl.reward_model.version': rewardModelVersion, 'rl.mean_verdict': meanVerdict },
        )
        break
      }
      default:
        yield span({ ...shared, parent, name: event.type }, {})
    }
  }
}

/** Attributes of a rollout's end. It has no outcome if its environment abstained. */
function playedAttributes({
  outcome,
  ended,
  steps,
}: EventData<'TrajectoryCompleted'>): Record<string, Value> {
  const ending = { 'rl.ended': ended, 'rl.steps': steps }
  return outcome.kind === 'scored'
    ? { ...ending, 'rl.outcome': outcome.value, 'rl.success': outcome.success }
    : { ...ending, 'rl.abstained': outcome.reason }
}

/**
 * Yields the whole export as JSON: one resource, one scope. A piece is one span, because a long run exceeds
 * one string.
 */
export function* otlpPieces(log: LogReader): IterableIterator<string> {
  const resource = { attributes: [attribute('service.name', 'rlanything'), attribute('rl.run', log.run)] }
  const scope = { name: 'rlanything' }
  yield `{"resourceSpans":[{"resource":${JSON.stringify(resource)},"scopeSpans":[{"scope":${JSON.stringify(scope)},"spans":[`
  let between = ''
  for (const one of spansOf(log)) {
    yield `${between}${JSON.stringify(one)}`
    between = ','
  }
  yield ']}]}]}'
}

type Place = {
  readonly trace: string
  readonly id: string
  readonly parent: string
  readonly name: string
  readonly kind?: 1 | 3
  /** Event at which the span begins. Its own event is its end. */
  readonly cause: LoggedEvent | null
  readonly event: LoggedEvent
}

function span(
  { trace, id, parent, name, kind = 1, cause, event }: Place,
  attributes: Readonly<Record<string, Value>>,
  error?: string,
): Span {
  // Clocks of two hosts may differ: no span ends before it begins.
  const begun = Math.min(cause?.time ?? event.time, event.time)
  return {
    traceId: trace,
    spanId: id,
    parentSpanId: parent,
    name,
    kind,
    startTimeUnixNano: nanos(begun),
    endTimeUnixNano: nanos(event.time),
    attributes: [
      attribute('rl.event', event.type),
      attribute('rl.position', event.position),
      attribute('rl.actor', event.actor),
      ...Object.entries(attributes).map(([key, value]) => attribute(key, value)),
    ],
    status: error === undefined ? { code: 1 } : { code: 2, message: error },
  }
}

function attribute(key: string, value: Value): Attribute {
  if (typeof value === 'string') return { key, value: { stringValue: value } }
  if (typeof value === 'boolean') return { key, value: { boolValue: value } }
  return { key, value: Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } }
}

/** Most milliseconds whose nanoseconds fit into 64 bits. */
const MOST_MS = 1.8e13

function nanos(ms: number): string {
  return String(BigInt(Math.round(Math.min(ms, MOST_MS) * 1000)) * 1000n)
}
