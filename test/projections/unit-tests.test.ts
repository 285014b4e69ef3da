import Database from 'better-sqlite3'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { unitTestProgress } from '../../src/actors/head/terminal/unit-test-progress.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { bestOfNAccuracy, codingMetrics, novelTests } from '../../src/learning/unit-tests.ts'
import { openProjections } from '../../src/projections/projection.ts'
import { unitTests } from '../../src/projections/unit-tests.ts'
import { unitTestRows } from '../../src/projections/views.ts'

type Program = { readonly right: boolean; readonly votes: readonly boolean[] }
type TaskCase = {
  readonly valid: readonly boolean[]
  readonly novel: readonly (boolean | undefined)[]
  readonly programs: readonly Program[]
}

const TESTS = 3
const boolean = fc.boolean()
const votes = fc.array(boolean, { minLength: TESTS, maxLength: TESTS })
const tasks: fc.Arbitrary<TaskCase[]> = fc.array(
  fc.record({
    valid: votes,
    novel: fc.array(fc.option(boolean, { nil: undefined }), { minLength: TESTS, maxLength: TESTS }),
    programs: fc.array(fc.record({ right: boolean, votes }), { minLength: 1, maxLength: 4 }),
  }),
  { minLength: 1, maxLength: 4 },
)

/** The events of one iteration's training tasks, as the workers write them. */
function eventsOf(cases: readonly TaskCase[]): LoggedEvent[] {
  const events: unknown[] = []
  const add = (type: string, data: object) => events.push({ type, data, position: events.length + 1 })
  for (const [t, { valid, novel, programs }] of cases.entries()) {
    const of = { iteration: 1, slot: `train-${t}`, task: `task-${t}`, purpose: 'train', split: 'train' }
    for (const [p, { right }] of programs.entries()) {
      const rollout = `1/train-${t}/${p}`
      add('ProgramTested', { ...of, rollout, passedU8: Uint8Array.of(1, right ? 1 : 0), verdicts: [] })
      add('TrajectoryCompleted', { ...of, rollout })
    }
    for (const [index, isValid] of valid.entries())
      add('UnitTestWritten', { ...of, index, novel: isValid ? novel[index] : undefined })
    for (const [p, program] of programs.entries()) {
      const judgements = valid.map((isValid, i) => ({ score: isValid ? (program.votes[i] ? 1 : -1) : 0 }))
      add('StepScored', { ...of, rollout: `1/train-${t}/${p}`, step: 0, judgements })
    }
  }
  return events as LoggedEvent[]
}

const tested = (cases: readonly TaskCase[]) =>
  cases.map(({ valid, novel, programs }) => ({
    dataset: programs.map(({ right }) => [right]),
    generated: programs.map((program) => program.votes.map((vote, i) => vote && valid[i])),
    valid,
    novel,
  }))

test('the projection gives the figures of the rules, the line of an iteration that of right tests, exclusions included', () => {
  fc.assert(
    fc.property(tasks, (cases) => {
      const events = eventsOf(cases)
      const db = new Database(':memory:')
      openProjections(db, [unitTests]).apply(events)
      const [row] = unitTestRows(db)
      db.close()
      const expected = codingMetrics(tested(cases))
      const near = (found: number | null, wanted: number | null) =>
        assert.ok(found === wanted || Math.abs((found ?? 9) - (wanted ?? 99)) < 1e-9, `${found} ${wanted}`)
      near(row.code, expected.code)
      near(row.unitTest, expected.unitTest)
      near(row.detect, expected.detect)
      near(row.bestOfN, bestOfNAccuracy(tested(cases)))
      const novel = tested(cases).map(novelTests)
      near(row.novelUnitTest, codingMetrics(novel).unitTest)
      near(row.novelDetect, codingMetrics(novel).detect)
      near(row.novelBestOfN, bestOfNAccuracy(novel))
      assert.is(row.unitTestTasks, expected.counts.unitTestTasks)
      assert.is(row.detectTasks, expected.counts.detectTasks)
      assert.is(row.invalidTests, expected.counts.invalidTests)

      const progress = unitTestProgress()
      for (const event of events)
        if (event.type === 'ProgramTested' || event.type === 'StepScored') progress.see(event)
      assert.is(progress.line(), `tests ${expected.unitTest === null ? '-' : expected.unitTest.toFixed(2)}`)
    }),
    { numRuns: 300 },
  )
})

test('a run without programs has no such rows and no such line', () => {
  const db = new Database(':memory:')
  openProjections(db, [unitTests]).apply([
    { type: 'StepScored', position: 1, data: { iteration: 1, rollout: 'r', judgements: [] } },
  ] as unknown as LoggedEvent[])
  assert.equal(unitTestRows(db), [])
  db.close()
  assert.is(unitTestProgress().line(), null)
})

test.run()
