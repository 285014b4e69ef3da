/** A minute of hostile inputs: every reader refuses them by name or reads them right, and lets the event loop go on. */
import { spawnSync } from 'node:child_process'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { rng, seedOf } from '../../src/random.ts'
import { temporaryFolder } from '../support/run.ts'
import { judge } from './measured.ts'
import type { OpenTarget } from './target.ts'
import { TARGETS } from './targets.ts'

test('nothing crashes, hangs or is taken in silence', () => {
  const words = [
    'bin/launch.mjs',
    'scripts/fuzz.ts',
    '--minutes',
    '1',
    '--seed',
    '1',
    '--keep',
    temporaryFolder(),
  ]
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
  assert.match(stdout, /inputs=[1-9]\d* crashes=0 hangs=0 silent=0\n$/, stdout + stderr)
})

test('a reader that throws no named error, holds the loop or takes what it should not is found', async () => {
  const verdictOf = (take: OpenTarget['take']) =>
    judge({ make: () => new Uint8Array(), take }, new Uint8Array())
  const hold = () => {
    const begun = process.cpuUsage()
    while (process.cpuUsage(begun).user < 80_000);
    return null
  }
  const kinds: string[] = []
  for (const take of [() => JSON.parse('{'), () => 'it was wrong', hold, () => null] as const)
    kinds.push((await verdictOf(take)).kind)
  assert.equal(kinds, ['crash', 'silent', 'hang', 'right'])
})

test('the same seed and number make the same input', async () => {
  for (const target of TARGETS) {
    const open = await target.open(temporaryFolder())
    const make = (input: number) => Buffer.from(open.make(rng(seedOf(7, 'fuzz', target.name, input))))
    for (const input of [0, 1, 2]) assert.equal(make(input), make(input), target.name)
    await open.close?.()
  }
})

test.run()
