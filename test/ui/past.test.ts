/** The past of a run: states at any position equal a fold from the start, whatever was kept or thrown away. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { rng, seedOf } from '../../src/random.ts'
import { differences, plainValue } from '../../src/ui/logic/differences.ts'
import { answerers } from '../../src/ui/server/past/asks.ts'
import { CHUNK } from '../../src/ui/server/past/chunks.ts'
import { beginFold } from '../../src/ui/server/past/fold.ts'
import { openPast, type Past } from '../../src/ui/server/past/past.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { madeEvents, writeRun } from './made-run.ts'

const root = temporaryFolder()
const fixture = unpackFixture(root)
const events = madeEvents(60)
const made = writeRun(root, 'made', events)

function statesFromTheStart(log: LogReader, at: number): readonly unknown[] {
  const fold = beginFold(log, null)
  for (const event of log.events({ until: at })) fold.feed(event)
  return fold.deciders.map((running) => structuredClone(running.snapshot()))
}

function statesOf(past: Past, at: number): readonly unknown[] {
  const fold = past.foldTo(at)
  assert.ok(fold !== null, `${at} is built`)
  return fold!.deciders.map((running) => structuredClone(running.snapshot()))
}

/** Positions of all kinds: at the ends, around the frames, and anywhere. */
function positionsOf(log: LogReader): readonly number[] {
  const end = log.head().position
  const draws = rng(seedOf(7, log.run))
  const frames = [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK].filter((at) => at <= end)
  return [1, 2, end, ...frames, ...Array.from({ length: 8 }, () => 1 + draws.below(end))]
}

function buildAll(past: Past): void {
  while (past.build());
}

for (const { run, log: path } of [fixture, made])
  test(`states and contexts of ${run} equal a fold from the start, at any position`, () => {
    const log = openLogReader(path)
    const file = join(root, `${run}.db`)
    const past = openPast(log, file)
    buildAll(past)
    for (const at of positionsOf(log)) assert.equal(statesOf(past, at), statesFromTheStart(log, at), `${at}`)
    past.close()
    // What was kept gives the same.
    const again = openPast(log, file)
    assert.is(again.built(), Math.floor(log.head().position / CHUNK) * CHUNK)
    buildAll(again)
    for (const at of positionsOf(log)) assert.equal(statesOf(again, at), statesFromTheStart(log, at), `${at}`)
    again.close()
    log.close()
  })

test('every transition is known, and events are counted by type', () => {
  const log = openLogReader(made.log)
  const past = openPast(log, ':memory:')
  buildAll(past)
  const fold = beginFold(log, null)
  const shown = new Map<string, string>()
  for (const event of log.events()) {
    fold.feed(event)
    for (const { decider, state } of fold.deciders) {
      const found = past.stateOf(decider.role, event.position)
      assert.is(found?.state, state())
      if (shown.get(decider.role) !== state()) assert.is(found?.position, event.position)
      shown.set(decider.role, state())
    }
  }
  const { types, counts } = answerers(log, past).counts({ parts: 40 })
  const totals = Object.fromEntries(types.map((type, i) => [type, counts[i].reduce((a, b) => a + b, 0)]))
  assert.equal(totals, log.countByType())
  assert.ok(counts[0].length <= 40)
  past.close()
  log.close()
})

test('a page tells what an event changed, and what the head waits for', () => {
  const log = openLogReader(made.log)
  const past = openPast(log, ':memory:')
  buildAll(past)
  const ask = answerers(log, past)
  const planned = log.newest(['IterationPlanned'])!
  const { deciders, built } = ask.states({ at: planned.position, context: 'head' })
  assert.is(built, 1)
  const head = deciders!.find(({ role }) => role === 'head')!
  assert.ok(head.reads)
  assert.ok(head.changes.some(({ path }) => path.startsWith('books.')))
  assert.is((head.context as { completed: number }).completed, 59)
  const policy = deciders!.find(({ role }) => role === 'policy')!
  assert.is(policy.context, null, 'one context alone is told')
  const { waits } = ask.waits({ at: planned.position })
  assert.match(waits![0].waitingFor, 'rollouts of iteration 60')
  assert.equal(ask.waits({ at: log.head().position }).waits, [])
  past.close()
  log.close()
})

test('what was kept of another log is not used', () => {
  const short = writeRun(root, 'short', events.slice(0, CHUNK + 500))
  const file = join(root, 'rolled.db')
  let log = openLogReader(made.log)
  let past = openPast(log, file)
  buildAll(past)
  past.close()
  log.close()
  // Hashes hold the name of the run, so that no chunk of the other log is taken.
  log = openLogReader(short.log)
  past = openPast(log, file)
  assert.is(past.built(), 0)
  buildAll(past)
  const end = log.head().position
  assert.equal(statesOf(past, end), statesFromTheStart(log, end))
  past.close()
  log.close()
  rmSync(runFolder('short', root).folder, { recursive: true })
})

test('a position far from what is built is told later', () => {
  const log = openLogReader(made.log)
  const past = openPast(log, ':memory:')
  assert.ok(log.head().position > 2 * CHUNK)
  assert.is(answerers(log, past).states({ at: log.head().position, context: null }).deciders, null)
  past.close()
  log.close()
})

test('values without maps, and what differs in them', () => {
  const round: Record<string, unknown> = { name: 'round' }
  round.self = round
  assert.equal(
    plainValue(
      new Map<unknown, unknown>([
        [3, new Set(['a'])],
        ['__proto__', Number.NaN],
      ]),
    ),
    {
      3: ['a'],
      ['__proto__']: 'NaN',
    },
  )
  assert.equal(plainValue(round), { name: 'round', self: '(a value above this one)' })
  assert.equal(differences({ a: 1, b: [1, 2], c: { d: 1 } }, { a: 2, b: [1], e: null, c: { d: 1 } }), {
    list: [
      { path: 'a', before: '1', after: '2' },
      { path: 'b.1', before: '2', after: null },
      { path: 'e', before: null, after: 'null' },
    ],
    total: 3,
  })
})

test.run()
