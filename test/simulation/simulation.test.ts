/** Worlds of seeds, held to what must be so in all of them; and the simulation itself, held to the real thing. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { digestOf } from '../../src/events/digest.ts'
import { eventsBelow } from '../support/logged.ts'
import { startHead } from '../support/processes.ts'
import { temporaryFolder } from '../support/run.ts'
import { settingsOf, worldConfig } from './config.ts'
import type { TimedKind } from './faults.ts'
import { edited, PLANTED } from './planted/planted.ts'
import { search } from './search.ts'
import { shrink } from './shrink.ts'
import { simulate } from './simulate.ts'
import { type Outcome, runWorld } from './world.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SEEDS = 200

test('an undisturbed world gives the digest of the same run over a real broker', async () => {
  const root = temporaryFolder()
  const real = startHead(root, 'real', settingsOf())
  assert.is(await real.status, 0, real.output())
  const undisturbed = await runWorld({ seed: 0, config: worldConfig(), expected: null })
  assert.equal(undisturbed.violations, [])
  assert.is(undisturbed.digest, digestOf(eventsBelow(root)('real')))
})

test('the same seed makes the same world', async () => {
  const worlds: string[] = []
  for (let time = 0; time < 2; time++) {
    const lines: string[] = []
    await simulate(12, { trace: (line) => lines.push(line) })
    worlds.push(lines.join('\n'))
  }
  assert.is(worlds[0], worlds[1])
})

test(`nothing is lost, doubled or left waiting in the worlds of ${SEEDS} seeds`, async () => {
  const failing: string[] = []
  let seeds = 0
  await search({
    from: 1,
    to: SEEDS,
    processes: 2,
    root: ROOT,
    signal: new AbortController().signal,
    onOutcome({ seed, violations }) {
      seeds++
      if (violations.length > 0) failing.push(`${seed}: ${violations.join('; ')}`)
    },
  })
  assert.equal(failing, [])
  assert.is(seeds, SEEDS)
})

/** A world with these faults alone, at these virtual milliseconds. */
function worldWith(
  faults: readonly (readonly [kind: TimedKind, at: number, whom: number, size: number])[],
): Promise<Outcome> {
  const timed = faults.map(([kind, at, whom, size]) => ({ name: `${kind}@${at}`, kind, at, whom, size }))
  return runWorld({ seed: 1, config: worldConfig(), expected: { digest: null }, timed })
}

test('a head whose disk is full to the last byte goes on when there is room', async () => {
  assert.equal((await worldWith([['full', 300, 0, 0.5]])).violations, [])
})

test('a second head is refused while the broker loses its store', async () => {
  assert.equal(
    (
      await worldWith([
        ['head', 59, 0.9, 0.1],
        ['wipe', 154, 0, 0.45],
      ])
    ).violations,
    [],
  )
})

test('a failing list of faults is shrunk to those that it takes', async () => {
  const faults = Array.from({ length: 40 }, (_, index) => `fault ${index}`)
  const needed = ['fault 7', 'fault 31']
  const few = await shrink(faults, async (some) => needed.every((one) => some.includes(one)))
  assert.equal(few, needed)
})

for (const { name, edits } of PLANTED)
  test(`the planted bug ${name} can still be planted`, () => {
    for (const edit of edits) assert.not.equal(edited(readFileSync(join(ROOT, edit.file), 'utf8'), edit), '')
  })

test.run()
