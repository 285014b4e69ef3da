/** Trace context of events: filled by whoever emits them, the same for all that belongs together, and what the export is made of. */
import { uuidv7 } from 'uuidv7'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startActor } from '../../src/actors/runtime/actor.ts'
import type { RlError } from '../../src/errors.ts'
import { CATALOGUE, type NewEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { iterationSpan, rolloutSpan, traceIdOf } from '../../src/events/trace.ts'
import { startTestHead, until } from '../support/run.ts'
import { environmentWorker, toyEnvironment } from '../support/toy.ts'

const begun: NewEvent = {
  type: 'IterationStarted',
  data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 },
}

test('every event bears the trace of its iteration, and the span of what it belongs to', async () => {
  const head = await startTestHead()
  const actor = await startActor({
    role: 'environment',
    run: 'test',
    address: head.addressOf('environment'),
    worker: environmentWorker(),
    decider: toyEnvironment({ iterations: 1, rollouts: 2 }),
  })
  head.service.append([begun])
  await until('played', () => head.log.countByType().TrajectoryCompleted === 2)
  for (const { type, trace, data } of head.log.events()) {
    assert.match(String(trace), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/, type)
    const [, traceId, spanId] = String(trace).split('-')
    assert.is(traceId, traceIdOf('test', 'iteration' in data ? 1 : null), type)
    if ('rollout' in data) assert.is(spanId, rolloutSpan('test', data.rollout), type)
    else if (type === 'IterationStarted') assert.is(spanId, iterationSpan('test', 1))
  }
  await actor.stop()
  await head.close()
})

test('a trace that is none is refused', async () => {
  const head = await startTestHead()
  const envelope = {
    ...{ id: uuidv7(), type: begun.type, v: CATALOGUE[begun.type].v, run: 'test', actor: 'head' },
    ...{ time: 1, cause: null, data: begun.data },
  }
  for (const trace of [
    '',
    'x',
    `00-${'0'.repeat(32)}-${'0'.repeat(16)}`,
    `00-${'g'.repeat(32)}-${'0'.repeat(16)}-01`,
  ]) {
    let code = 'taken'
    try {
      head.log.check(encodeEnvelope({ ...envelope, trace }))
    } catch (error) {
      code = (error as RlError).code
    }
    assert.is(code, 'event.bad-envelope', trace)
  }
  await head.close()
})

test.run()
