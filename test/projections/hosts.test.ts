import Database from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { float32Column, int32Column } from '../../src/events/columns.ts'
import { hostRows } from '../../src/projections/host-rows.ts'
import { hosts } from '../../src/projections/hosts.ts'
import { openProjections } from '../../src/projections/projection.ts'

const PLACES = { a: 'a'.repeat(16), b: 'b'.repeat(16) }

/** Events as a log holds them, as far as the projection reads them. */
function openEvents() {
  const events: unknown[] = []
  const add = (actor: string, type: string, data: object) =>
    events.push({ actor, type, data, position: events.length + 1 })
  return {
    events: events as LoggedEvent[],
    add,
    starts: (worker: string, host: string, process?: string) =>
      add(worker, 'ActorStarted', { role: 'environment', worker, host, ...(process ? { process } : {}) }),
    plays: (worker: string, iteration: number, rollout: string, policyVersion: number, purpose = 'train') =>
      add(worker, 'TrajectoryCompleted', { iteration, rollout, policyVersion, purpose }),
  }
}

function rowsOf(events: readonly LoggedEvent[], most?: number) {
  const db = new Database(':memory:')
  openProjections(db, [hosts]).apply(events)
  return hostRows(db, most)
}

test('a host has the ages and weights of its rollouts, and what no update took', () => {
  const { events, add, starts, plays } = openEvents()
  starts('environment/1', 'box', `${PLACES.a}-7-1`)
  starts('environment/2', 'box', `${PLACES.b}-7-1`)
  plays('environment/1', 5, '5/x/0', 4)
  plays('environment/1', 5, '5/x/1', 2)
  plays('environment/2', 5, '5/x/2', 4)
  plays('environment/2', 5, '5/e/0', 4, 'evaluation')
  plays('environment/2', 6, '6/x/0', 4)
  add('environment/2', 'RolloutFailed', { iteration: 5, rollout: '5/x/3', purpose: 'train' })
  add('policy/1', 'PolicyUpdated', {
    ...{ iteration: 5, version: 5, parentVersion: 4, trainedOn: ['5/x/0', '5/x/1', '5/outside'] },
    weights: {
      tokensI32: int32Column([2, 2, 9]),
      sumF32: float32Column([2, 6, 9]),
      squaresF32: float32Column([2, 26, 9]),
      mostF32: float32Column([1, 5, 9]),
      cutI32: int32Column([0, 1, 9]),
    },
  })
  add('head', 'IterationCompleted', { iteration: 5 })
  const [b, a] = rowsOf(events)
  assert.equal(a, {
    ...{ host: 'box', place: PLACES.a, rollouts: 2, failed: 0, trained: 2, dropped: 0 },
    ...{ ages: { 0: 1, 2: 1 }, meanAge: 1, mostAge: 2 },
    weights: { tokens: 4, mean: 2, most: 5, effective: 64 / 28, cutShare: 0.25 },
  })
  // The rollout of iteration 6 may still be trained on.
  assert.equal(b, {
    ...{ host: 'box', place: PLACES.b, rollouts: 2, failed: 1, trained: 0, dropped: 1 },
    ...{ ages: {}, meanAge: null, mostAge: null, weights: null },
  })
})

test('of a thousand hosts those come first that lost the most', () => {
  const { events, add, starts, plays } = openEvents()
  for (let index = 0; index < 1_000; index++) {
    const worker = `environment/${index}`
    starts(worker, `host-${index}`, `${index.toString(16).padStart(16, '0')}-1-1`)
    plays(worker, 1, `1/x/${index}`, 0)
  }
  add('environment/777', 'RolloutFailed', { iteration: 1, rollout: '1/y/0', purpose: 'candidate' })
  const rows = rowsOf(events, 200)
  assert.is(rows.length, 200)
  assert.is(rows[0]?.host, 'host-777')
})

test('a log that does not tell where its processes were has one row', () => {
  const { events, plays } = openEvents()
  plays('environment', 1, '1/x/0', 0)
  plays('environment/9', 1, '1/x/1', 0)
  assert.equal(
    rowsOf(events).map(({ host, rollouts }) => [host, rollouts]),
    [['unknown', 2]],
  )
})

test.run()
