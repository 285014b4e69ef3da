/** A register of runs: what its files say, which of them tell of the same run, and which are refused. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../src/errors.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { type Attestation, attest } from '../../src/replay/attest.ts'
import { attestedRuns } from '../../src/replay/attested-runs.ts'
import { temporaryFolder } from '../support/run.ts'
import { unpackFixture } from './fixture.ts'

function attested(): Attestation {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  try {
    return attest(log)
  } finally {
    log.close()
  }
}

test('runs are listed with their last evaluations, and files of the same events are repeats', () => {
  const folder = temporaryFolder()
  const given = attested()
  const write = (name: string, one: unknown) => writeFileSync(join(folder, name), JSON.stringify(one))
  write('a.json', given)
  write('b.json', { ...given, run: 'elsewhere' })
  write('c.json', { ...given, digest: '0'.repeat(64), config: { ...given.config, run: { seed: 99 } } })
  write('d.json', { format: 'another' })
  write('notes.txt', 'no run')
  const { runs, unreadable } = attestedRuns(folder)
  assert.equal(
    runs.map(({ file, repeats }) => [file, repeats]),
    [
      ['a.json', ['b.json']],
      ['b.json', ['a.json']],
      ['c.json', []],
    ],
  )
  assert.equal(
    runs.map(({ confirmed }) => confirmed),
    [true, true, false],
  )
  const [first] = runs
  const splits = new Set(given.evaluations.map(({ split }) => split))
  assert.is(first?.evaluations.length, splits.size)
  for (const one of first?.evaluations ?? [])
    assert.equal(
      one,
      given.evaluations.findLast(({ split }) => split === one.split),
    )
  assert.is(first?.setting, 'alfworld')
  assert.equal(
    unreadable.map(({ file, error }) => [file, error.code]),
    [['d.json', 'attest.not-one']],
  )
})

test('a folder that is not there is named', () => {
  assert.throws(
    () => attestedRuns('/nowhere/at/all'),
    (error: unknown) => error instanceof RlError && error.code === 'attest.none',
  )
})

test.run()
