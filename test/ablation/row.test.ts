import { join } from 'node:path'
import { uuidv7 } from 'uuidv7'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Row, rowOf } from '../../src/ablation/row.ts'
import { CATALOGUE, type NewEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { openLog } from '../../src/events/log.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { temporaryFolder } from '../support/run.ts'
import { runStarted } from '../support/toy.ts'

const began: NewEvent = {
  type: 'IterationStarted',
  data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 },
}
const resumed: NewEvent = { type: 'RunResumed', data: { reason: 'the head was started again' } }
const completed: NewEvent = { type: 'RunCompleted', data: { iterations: 1, metrics: {} } }

type Timed = readonly (readonly [second: number, event: NewEvent])[]

/** The row of a run whose events came at these seconds. */
function rowFrom(events: Timed): Row | null {
  const path = join(temporaryFolder(), 'events.db')
  const log = openLog(path, { run: 'a', minFreeBytes: 0 })
  for (const [second, { type, data }] of events) {
    const envelope = { id: uuidv7(), type, v: CATALOGUE[type].v, run: 'a', actor: 'head', cause: null, data }
    log.append([log.check(encodeEnvelope({ ...envelope, time: 1000 * second }))])
  }
  log.close()
  const reader = openLogReader(path)
  try {
    return rowOf(reader, 'outcome-only', 1)
  } finally {
    reader.close()
  }
}

function secondsOf(events: Timed): number | undefined {
  return rowFrom(events)?.seconds
}

test('the processor seconds of a run are those of its iterations, all roles together', () => {
  const measured = (iteration: number, ms: Record<string, number>): [number, NewEvent] => [
    50,
    { type: 'ProcessorTimeMeasured', data: { iteration, ms } },
  ]
  const run = [
    [0, runStarted],
    [40, began],
    measured(1, { policy: 2_000, head: 500 }),
    measured(2, { policy: 1_000 }),
    [100, completed],
  ] as const
  assert.is(rowFrom(run)?.processorSeconds, 3.5)
  const over = (iteration: number): [number, NewEvent] => [
    60,
    { type: 'IterationCompleted', data: { iteration, accuracy: { successes: 0, n: 1 }, metrics: {} } },
  ]
  const before = run.slice(0, 4)
  assert.is(rowFrom([...before, over(1), over(2), [100, completed]])?.processorSeconds, 3.5)
  const killed = [...before, over(1), over(2), over(3), [100, completed]] as const
  assert.is(rowFrom(killed)?.processorSeconds, null, 'a head ended in iteration 3')
  const again: NewEvent = { type: 'RunResumed', data: { reason: 'started again', codeVersion: 'b' } }
  const ended = [...before, [70, again], over(1), over(2), [100, completed]] as const
  assert.is(rowFrom(ended)?.processorSeconds, null, 'what the first head did not hear is nowhere')
  const older = run.filter(([, { type }]) => type !== 'ProcessorTimeMeasured')
  assert.is(rowFrom(older)?.processorSeconds, null, 'logs of 0.2 do not tell it')
})

test('the seconds of a run are those in which it was played', () => {
  const steps = [
    [0, runStarted],
    [40, began],
  ] as const
  assert.is(secondsOf([...steps, [100, completed]]), 60)
  assert.is(secondsOf([...steps, [50, resumed], [100, completed]]), 50, 'it stood still for 10 seconds')
  const twice = [...steps, [5_000, resumed], [5_010, resumed], [5_030, completed]] as const
  assert.is(secondsOf(twice), 20)
  const early = [
    [0, runStarted],
    [30, resumed],
    [40, began],
    [100, completed],
  ] as const
  assert.is(secondsOf(early), 60, 'before the first iteration nothing is counted')
  assert.is(
    rowFrom(early)?.elapsedSeconds,
    70,
    'from the start of the head on, less 30 seconds in which it stood',
  )
  assert.is(secondsOf(steps), undefined)
})

test.run()
