import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLogReader } from '../../src/events/log-reader.ts'
import { causeOf } from '../../src/replay/causes.ts'
import { otlpPieces, spansOf } from '../../src/replay/otlp.ts'
import { ofType } from '../../src/replay/why.ts'
import { temporaryFolder } from '../support/run.ts'
import { unpackFixture } from './fixture.ts'

test('an iteration is a trace: every parent is a span of it, times are in order, model calls bear their tokens', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const spans = [...spansOf(log)]
  const ids = new Set(spans.map(({ traceId, spanId }) => `${traceId}/${spanId}`))
  assert.is(ids.size, spans.length)
  const completed = ofType(log, 'IterationCompleted').length
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === '')
  assert.is(roots.length, completed)
  const complete = new Set(roots.map(({ traceId }) => traceId))
  for (const { traceId, spanId, parentSpanId, startTimeUnixNano, endTimeUnixNano } of spans) {
    assert.match(`${traceId} ${spanId}`, /^[0-9a-f]{32} [0-9a-f]{16}$/)
    assert.ok(BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano))
    if (complete.has(traceId) && parentSpanId !== '') assert.ok(ids.has(`${traceId}/${parentSpanId}`))
  }
  const calls = spans.filter(({ name }) => name.startsWith('chat '))
  assert.is(calls.length, ofType(log, 'TrajectoryCompleted').length)
  assert.ok(
    calls.every(({ attributes }) => attributes.some(({ key }) => key === 'gen_ai.usage.output_tokens')),
  )
  const pieces = [...otlpPieces(log)]
  const [{ resource, scopeSpans }] = JSON.parse(pieces.join('')).resourceSpans
  assert.equal(scopeSpans[0].spans, JSON.parse(JSON.stringify(spans)))
  assert.ok(JSON.stringify(resource).includes(log.run))
  assert.ok(pieces.length >= spans.length, 'in pieces: the whole of a long run is over the longest string')
  log.close()
})

test('events of older logs without a cause have the one that asked for them', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  for (const type of ['StepScored', 'TaskProposed', 'TrajectoryCompleted', 'TrajectoryJudged'] as const)
    for (const event of ofType(log, type)) {
      const cause = causeOf(log, event)
      assert.ok(cause !== null && cause.position < event.position, `${type} at ${event.position}`)
    }
  log.close()
})

test.run()
