/** What holds of events that are written, beyond their shape: lengths, places, tallies. What a log holds already is read as before. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../src/errors.ts'
import { CATALOGUE, type EventData, type EventType, type NewEvent } from '../../src/events/catalogue.ts'
import { checkData, wrongIn } from '../../src/events/codec.ts'
import { float32Column, int32Column } from '../../src/events/columns.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { startTestHead } from '../support/run.ts'
import { readFixtures, sampleOf } from './samples.ts'

type Trajectory = EventData<'TrajectoryCompleted'>
type Segment = Trajectory['segments'][number]

/** Two steps of two tokens each, the second of which was sampled among three. */
const segment: Segment = {
  firstStep: 0,
  tokensI32: int32Column([5, 7, 5, 9]),
  maskU8: Uint8Array.of(0, 1, 0, 1),
  logprobsF32: float32Column([0, -1, 0, -0.5]),
  stepStartI32: int32Column([1, 3]),
  allowedOffsetsI32: int32Column([0, 0, 3, 3, 6]),
  allowedI32: int32Column([7, 8, 9, 7, 8, 9]),
}

function played(changes: Partial<Trajectory> = {}): NewEvent {
  const data: Trajectory = {
    ...{ rollout: '1/train-00000/0', iteration: 1, purpose: 'train', split: 'train', slot: 'train-00000' },
    ...{ task: 'task', index: 0, policyVersion: 0, seed: [1, 2] },
    outcome: { kind: 'scored', value: 1, success: true },
    ...{ ended: 'goal', steps: 2, observations: ['a', 'b', 'c'], actions: ['x', 'y'], invalid: {} },
    ...{ trainable: true, segments: [segment] },
    usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 },
  }
  return { type: 'TrajectoryCompleted', data: { ...data, ...changes } }
}

function within(changes: Partial<Segment>): NewEvent {
  return played({ segments: [{ ...segment, ...changes }] })
}

/** An event of the type as it is in the fixtures, with some of its data changed. */
function sample<T extends EventType>(type: T, changes: Partial<EventData<T>> = {}): NewEvent {
  const fixture = readFixtures().find((one) => one.type === type && one.v === CATALOGUE[type].v)
  const event = sampleOf(fixture!)
  return { type, data: { ...event.data, ...changes } } as NewEvent
}

const judged = {
  critique: '',
  score: 1,
  tokensI32: int32Column([1, 2]),
  logprobsF32: float32Column([0, -1]),
} as const
const tally = (successes: number, n: number) => ({ successes, n })
const call = { kept: 0, messages: '[{}, {}]', tools: null, answer: '{}', model: 'm', finish: 'stop' }

const WRONG: readonly (readonly [NewEvent, RegExp])[] = [
  [played({ observations: ['a', 'b'] }), /observations/],
  [played({ actions: ['x'] }), /actions/],
  [played({ reasoning: ['x'] }), /reasoning/],
  [within({ firstStep: 1 }), /firstStep/],
  [played({ segments: [segment, segment] }), /segments\.1\.firstStep/],
  [within({ tokensI32: new Uint8Array(15) }), /no whole number/],
  [within({ tokensI32: int32Column([5, 7, 5]) }), /maskU8/],
  [within({ tokensI32: int32Column([5, 7, 5, -9]) }), /tokensI32: element 3/],
  [within({ maskU8: Uint8Array.of(0, 1, 0, 2) }), /maskU8: element 3/],
  [within({ logprobsF32: float32Column([0, -1, 0]) }), /logprobsF32/],
  [within({ logprobsF32: float32Column([0, Number.NaN, 0, 0]) }), /not finite/],
  [within({ logprobsF32: float32Column([0, -Infinity, 0, 0]) }), /not finite/],
  [within({ stepStartI32: int32Column([3, 1]) }), /stepStartI32/],
  [within({ stepStartI32: int32Column([1, 5]) }), /stepStartI32/],
  [within({ stepStartI32: int32Column([-1, 3]) }), /stepStartI32/],
  [within({ allowedI32: undefined }), /allowedI32/],
  [within({ allowedOffsetsI32: int32Column([0, 0, 3, 6]) }), /allowedOffsetsI32/],
  [within({ allowedOffsetsI32: int32Column([0, 3, 0, 3, 6]) }), /allowedOffsetsI32/],
  [within({ allowedOffsetsI32: int32Column([0, 0, 3, 3, 5]) }), /allowedOffsetsI32/],
  [within({ allowedI32: int32Column([8, 8, 9, 7, 8, 9]) }), /was not allowed/],
  [sample('ProgramTested', { passedU8: Uint8Array.of(1) }), /verdicts/],
  [sample('ProgramTested', { passedU8: Uint8Array.of(1, 0, 3) }), /passedU8/],
  [sample('ProgramFlaky', { tests: [2, 2] }), /tests/],
  [sample('FramesRecorded', { frames: [] }), /frames/],
  [sample('StepScored', { judgements: [{ ...judged, logprobsF32: float32Column([0]) }] }), /judgements\.0/],
  [sample('StepScored', { judgements: [{ ...judged, reasoningTokens: 3 }] }), /reasoningTokens/],
  [sample('StepScored', { promptI32: new Uint8Array(3) }), /promptI32/],
  [sample('UnitTestWritten', { tokensI32: int32Column([]) }), /logprobsF32/],
  [sample('UnitTestWritten', { test: null, invalid: null }), /invalid/],
  [sample('TrajectoryJudged', { complaints: [{ step: 3, critique: '' }] }), /complaints/],
  [sample('TaskAdded', { index: 1, total: 1 }), /index/],
  [sample('TaskProposed', { parentAccuracy: tally(0, 0) }), /parentAccuracy/],
  [sample('TaskAccepted', { accuracy: tally(2, 1) }), /accuracy/],
  [sample('TaskRejected', { accuracy: tally(1, 0) }), /accuracy/],
  [sample('IterationCompleted', { accuracy: tally(3, 2) }), /accuracy/],
  [sample('EvaluationCompleted', { meanSteps: -1 }), /meanSteps/],
  [sample('IterationPlanned', { rolloutsPerTask: 0 }), /groups/],
  [sample('PolicyUpdated', { parentVersion: 3 }), /parentVersion/],
  [sample('RewardModelUpdated', { parentVersion: null }), /parentVersion/],
  [sample('PolicyPublished', { serving: 9 }), /serving/],
  [sample('BatchReady', { trainedTokens: 301 }), /trainedTokens/],
  [sample('CallsReserved', { calls: 0 }), /calls/],
  [sample('CallsRecorded', { calls: [{ ...call, kept: 1 }] }), /kept/],
  [sample('CallsRecorded', { calls: [call, { ...call, kept: 3 }] }), /kept/],
  [sample('CallsRecorded', { calls: [{ ...call, messages: '{' }] }), /messages/],
]

test('what is right is taken, and what disagrees with itself is named', () => {
  assert.is(wrongIn(played()), null)
  assert.is(wrongIn(sample('StepScored', { judgements: [judged] })), null)
  assert.is(wrongIn(sample('CallsRecorded', { calls: [call, { ...call, kept: 2 }] })), null)
  for (const [event, reason] of WRONG)
    assert.match(wrongIn(event) ?? 'nothing is wrong', reason, `${event.type} ${reason}`)
})

test('no number is infinite, none at all, or beyond its range', () => {
  const numbers: readonly [EventType, object][] = [
    ['EvaluationCompleted', { meanSteps: Number.NaN }],
    ['IterationCompleted', { metrics: { loss: Number.POSITIVE_INFINITY } }],
    ['StepScored', { probability: 1.01 }],
    ['StepScored', { progress: Number.NaN }],
    ['TrajectoryCompleted', { outcome: { kind: 'scored', value: -0.1, success: false } }],
    ['TrajectoryCompleted', { usage: { promptTokens: -1, cachedTokens: 0, completionTokens: 0 } }],
    ['TrajectoryJudged', { meanVerdict: -1.5 }],
    ['TaskAccepted', { thresholds: { low: -1, high: 2 } }],
  ]
  for (const [type, changes] of numbers) {
    const { data } = sample(type, changes as never)
    assert.throws(
      () => checkData(type, CATALOGUE[type].v, data),
      (error: unknown) => error instanceof RlError,
      type,
    )
  }
})

test('columns of any lengths: taken only where all agree', () => {
  const bytes = fc.uint8Array({ maxLength: 12 })
  fc.assert(
    fc.property(bytes, bytes, bytes, bytes, (tokensI32, maskU8, logprobsF32, stepStartI32) => {
      const changes = { tokensI32, maskU8, logprobsF32, stepStartI32 }
      const event = within({ ...changes, allowedOffsetsI32: undefined, allowedI32: undefined })
      if (wrongIn(event) !== null) return
      assert.is(tokensI32.length, 4 * maskU8.length)
      assert.is(logprobsF32.length, tokensI32.length)
      assert.ok(stepStartI32.length % 4 === 0 && stepStartI32.length <= 8)
    }),
    { numRuns: 2_000, seed: 5 },
  )
})

test('the head writes none that is wrong, and reads those that a log holds already', async () => {
  const head = await startTestHead()
  const log = connectLog({ bus: head.bus, run: 'test', actor: 'environment' })
  const wrong = played({ actions: [] })
  const refused = await log.append([wrong]).catch((error: unknown) => error)
  assert.is((refused as RlError).code, 'event.bad-data')
  assert.match((refused as RlError).message, /actions: there are 0 elements, not 2/)
  assert.throws(
    () => head.service.append([sample('IterationCompleted', { accuracy: tally(3, 2) })]),
    /accuracy/,
  )
  assert.is(head.log.head().position, 0)
  for (const fixture of readFixtures())
    assert.ok(checkData(fixture.type as EventType, fixture.v, fixture.data))
  log.close()
  await head.close()
})

test.run()
