/** The proof of a training: what counts as 0, and what is left out. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Proof, proofOf } from '../../src/agents/proof.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { temporaryFolder } from '../support/run.ts'
import { madeEvents, writeRun } from '../ui/made-run.ts'

const root = temporaryFolder()
const events = madeEvents(2)
const measured = events.filter(
  ({ type, data }) => type === 'TrajectoryCompleted' && data.purpose === 'evaluation',
) as LoggedEvent<'TrajectoryCompleted'>[]
const last = Math.max(...measured.map(({ data }) => data.iteration))
const late = measured.filter(({ data }) => data.iteration === last && data.outcome.kind === 'scored')
const won = late.find(({ data }) => data.outcome.kind === 'scored' && data.outcome.value === 1)!

function proofWith(name: string, change: (event: LoggedEvent<'TrajectoryCompleted'>) => object): Proof {
  const { log } = writeRun(
    root,
    name,
    events.map((event) => (event === won ? ({ ...event, ...change(won) } as LoggedEvent) : event)),
  )
  const reader = openLogReader(log)
  const proof = proofOf(reader)
  reader.close()
  return proof
}

const failure = (cause: string) => ({
  type: 'RolloutFailed',
  data: {
    ...{ rollout: won.data.rollout, iteration: won.data.iteration, purpose: won.data.purpose },
    ...{ slot: won.data.slot, task: won.data.task, cause, error: 'it broke', attempts: 1 },
  },
})

test('a rollout whose agent failed counts as 0, and one without a grade is left out', () => {
  const whole = proofWith('whole', () => ({}))
  assert.equal([whole.failed, whole.ungraded], [0, 0])
  const failed = proofWith('failed', () => failure('agent'))
  assert.equal([failed.failed, failed.ungraded], [1, 0])
  assert.is(failed.tasks, whole.tasks)
  assert.ok(failed.after! < whole.after!)
  assert.is(failed.before, whole.before)
  for (const left of [
    proofWith('broken', () => failure('infra')),
    proofWith('abstained', ({ data }) => ({
      data: { ...data, outcome: { kind: 'abstained', reason: 'nobody knows' } },
    })),
  ])
    assert.equal([left.failed, left.ungraded], [0, 1])
})

test.run()
