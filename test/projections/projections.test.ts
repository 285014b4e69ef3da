import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { EventData, EventType, LoggedEvent } from '../../src/events/catalogue.ts'
import type { LogReader } from '../../src/events/log-reader.ts'
import { linearFit } from '../../src/learning/linear-fit.ts'
import { PROJECTIONS } from '../../src/projections/all.ts'
import {
  catchUp,
  clearProjections,
  openProjections,
  type Projections,
} from '../../src/projections/projection.ts'
import { accuracyRows, kindRows } from '../../src/projections/views.ts'
import { playLoop, smallConfig } from '../actors/loop.ts'

const folder = mkdtempSync(join(tmpdir(), 'rl-projections-'))
test.after(() => rmSync(folder, { recursive: true }))

const config = smallConfig({
  run: { iterations: 5, evaluateEvery: 2 },
  evaluation: { splits: ['in-domain', 'ood'], tasks: 2, judge: true },
  simulation: { steps: 3, failureShare: 0.1, judgeAccuracy: 0.75 },
})
const { log } = playLoop({ config })

function of<T extends EventType>(type: T): EventData<T>[] {
  return log.filter((event) => event.type === type).map(({ data }) => data as EventData<T>)
}

function feed(projections: Projections, events: readonly LoggedEvent[], batch: number): void {
  for (let at = 0; at < events.length; at += batch) projections.apply(events.slice(at, at + batch))
}

const whole = new Database(':memory:')
const wholeProjections = openProjections(whole, PROJECTIONS)
feed(wholeProjections, log, log.length)
const expected = wholeProjections.digests()

test('the rows do not depend on the size of the batches', () => {
  for (const batch of [1, 7, 100]) {
    const projections = openProjections(new Database(':memory:'), PROJECTIONS)
    feed(projections, log, batch)
    assert.equal(projections.digests(), expected)
  }
})

test('success by kind of task adds up to that of each evaluation', () => {
  const counts = ['n', 'successes', 'failed', 'abstained'] as const
  const ofKinds = new Map<string, readonly number[]>()
  for (const row of kindRows(whole)) {
    assert.ok(typeof row.kind === 'string' && row.kind !== '')
    const name = `${row.iteration} ${row.split}`
    const before = ofKinds.get(name)
    ofKinds.set(
      name,
      counts.map((count, i) => (before?.[i] ?? 0) + row[count]),
    )
  }
  const evaluations = accuracyRows(whole).filter(({ purpose }) => purpose === 'evaluation')
  assert.ok(evaluations.length >= 4)
  for (const row of evaluations)
    assert.equal(
      ofKinds.get(`${row.iteration} ${row.split}`),
      counts.map((count) => row[count]),
    )
  assert.is(ofKinds.size, evaluations.length)
})

test('rollouts without an outcome stand beside n: those that failed, and those of which nobody could tell', () => {
  const unsure = log.map((event): LoggedEvent => {
    if (event.type !== 'TrajectoryCompleted' || event.data.index > 0) return event
    return { ...event, data: { ...event.data, outcome: { kind: 'abstained', reason: 'cannot tell' } } }
  })
  const db = new Database(':memory:')
  feed(openProjections(db, PROJECTIONS), unsure, unsure.length)
  const rows = accuracyRows(db)
  const sum = (of: 'n' | 'failed' | 'abstained') => rows.reduce((total, row) => total + row[of], 0)
  const completed = of('TrajectoryCompleted')
  const abstained = completed.filter(({ index }) => index === 0).length
  assert.equal(
    [sum('n'), sum('failed'), sum('abstained')],
    [completed.length - abstained, of('RolloutFailed').length, abstained],
  )
  assert.ok(abstained > 0 && sum('failed') > 0)
})

test('a process that ends between any two batches goes on where the file stands, and events fed again are skipped', () => {
  let runs = 0
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(log.length), { maxLength: 5 }), fc.nat(40), (stops, overlap) => {
      const file = join(folder, `run-${runs++}.db`)
      for (const stop of [...stops.sort((a, b) => a - b), log.length]) {
        const db = new Database(file)
        const projections = openProjections(db, PROJECTIONS)
        const from = Math.max(0, projections.position() - overlap)
        feed(projections, log.slice(from, stop), 50)
        db.close()
      }
      const db = new Database(file)
      assert.equal(openProjections(db, PROJECTIONS).digests(), expected)
      db.close()
    }),
    { numRuns: 15 },
  )
})

test('a batch that fails leaves neither rows nor position', () => {
  const db = new Database(':memory:')
  const projections = openProjections(db, PROJECTIONS)
  projections.apply(log.slice(0, 50))
  const before = db.prepare('SELECT * FROM projections').all()
  db.exec("CREATE TRIGGER full BEFORE INSERT ON accuracy BEGIN SELECT RAISE(ABORT, 'disk full'); END")
  assert.throws(() => projections.apply(log.slice(50, 300)), /disk full/)
  assert.equal(db.prepare('SELECT * FROM projections').all(), before)
  assert.is(projections.position(), 50)
})

test('two processes on one file: whoever comes late goes on where the other stands, and nothing is counted twice', () => {
  const file = join(folder, 'two.db')
  const both = [0, 1].map(() => openProjections(new Database(file), PROJECTIONS))
  assert.is(both[1].position(), 0)
  both[0].apply(log.slice(0, 100))
  assert.throws(() => both[1].apply(log.slice(0, 50)), /another process/)
  assert.is(both[1].position(), 100)
  for (let end = 150, turn = 1; end < log.length + 50; end += 50, turn = 1 - turn) {
    const until = Math.min(end, log.length)
    catchUp(both[turn], {
      head: () => ({ position: until, hash: '' }),
      events: (({ from = 1 } = {}) => log.slice(from - 1, until).values()) as LogReader['events'],
    })
  }
  assert.equal(openProjections(new Database(file), PROJECTIONS).digests(), expected)
})

test('a log that was cut short since has the rows of its own events alone', () => {
  const file = join(folder, 'cut.db')
  feed(openProjections(new Database(file), PROJECTIONS), log, log.length)
  const cut = log.slice(0, Math.floor(log.length / 2))
  const alone = openProjections(new Database(':memory:'), PROJECTIONS)
  feed(alone, cut, cut.length)
  const again = openProjections(new Database(file), PROJECTIONS)
  catchUp(again, {
    head: () => ({ position: cut.length, hash: '' }),
    events: (({ from = 1 } = {}) => cut.slice(from - 1).values()) as LogReader['events'],
  })
  assert.is(again.position(), cut.length)
  assert.equal(again.digests(), alone.digests())
})

test('a projection of another version begins again; the others do not', () => {
  const db = new Database(':memory:')
  feed(openProjections(db, PROJECTIONS), log, 1000)
  const raised = PROJECTIONS.map((projection) =>
    projection.name === 'lineage' ? { ...projection, version: projection.version + 1 } : projection,
  )
  const projections = openProjections(db, raised)
  assert.is(projections.position(), 0)
  feed(projections, log, 1000)
  assert.equal(projections.digests(), expected)
})

test('a rebuild gives the same rows', () => {
  const db = new Database(':memory:')
  feed(openProjections(db, PROJECTIONS), log, 1000)
  clearProjections(db, PROJECTIONS)
  const projections = openProjections(db, PROJECTIONS)
  assert.is(projections.position(), 0)
  feed(projections, log, 1000)
  assert.equal(projections.digests(), expected)
})

test('accuracy agrees with the evaluations and the iterations', () => {
  const sum = whole.prepare(
    'SELECT sum(successes) AS successes, sum(n) AS n, sum(failed) AS failed FROM accuracy WHERE iteration = ? AND purpose = ? AND split = ?',
  )
  for (const { iteration, split, rollouts, failed } of of('EvaluationCompleted'))
    assert.equal(sum.get(iteration, 'evaluation', split), { ...rollouts, failed })
  for (const { iteration, accuracy } of of('IterationCompleted').filter(({ iteration }) => iteration > 0)) {
    const { successes, n } = sum.get(iteration, 'train', 'train') as { successes: number; n: number }
    assert.equal({ successes, n }, accuracy)
  }
  assert.is(whole.prepare('SELECT count(*) FROM accuracy_requested').pluck().get(), 0)
})

test('reward quality counts every judgement once, against progress and outcome', () => {
  const judgements = of('StepScored').flatMap((step) =>
    step.judgements.map(({ score }) => ({ ...step, score })),
  )
  const [row] = whole
    .prepare(
      `SELECT sum(judgements) AS n, sum(process_good_right + process_bad_right) AS processRight,
              sum(process_good + process_bad) AS process, sum(outcome_good_right + outcome_bad_right) AS outcomeRight FROM reward_quality`,
    )
    .all() as Record<string, number>[]
  const success = new Map(
    of('TrajectoryCompleted').map(({ rollout, outcome }) => [
      rollout,
      outcome.kind === 'scored' && outcome.success,
    ]),
  )
  assert.is(row.n, judgements.length)
  assert.is(row.process, judgements.length)
  assert.is(row.processRight, judgements.filter(({ score, progress }) => score > 0 === progress! > 0).length)
  assert.is(
    row.outcomeRight,
    judgements.filter(({ score, rollout }) => score > 0 === success.get(rollout)).length,
  )
  const { process } = { process: row.processRight / row.process }
  assert.ok(Math.abs(process - config.simulation.judgeAccuracy) < 0.1, `${process}`)
})

test('every task that was ever added, proposed or refused has a line, and every decision its reason', () => {
  const rows = whole.prepare('SELECT * FROM lineage').all() as Record<string, unknown>[]
  const refused = of('TaskRejected').filter(({ task }) => task === null)
  assert.is(rows.length, of('TaskAdded').length + of('TaskProposed').length + refused.length)
  for (const { slot, task, reason } of [...of('TaskAccepted'), ...of('TaskRejected')])
    assert.ok(rows.some((row) => row.slot === slot && row.task === task && row.reason === reason))
  assert.is(rows.filter(({ status }) => status === 'accepted').length, of('TaskAccepted').length)
})

test('a line through points', () => {
  const fit = linearFit([[1, 1], [2, 3], [3, 5]]) // biome-ignore format: points
  assert.equal([fit?.slope.value, fit?.intercept, fit?.r2], [2, -1, 1])
  assert.is(linearFit([[1, 1]]), null)
})

test.run()
