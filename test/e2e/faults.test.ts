/** What the check of faults is made of: its table, its witness and its clock. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FAULTS } from '../../scripts/e2e/fault-table.ts'
import { PARTS } from '../../scripts/e2e/hosts-run.ts'
import { PLANTED_HOSTS } from '../../scripts/e2e/planted-hosts.ts'
import { compareTold } from '../../scripts/e2e/told.ts'
import { edited } from '../simulation/planted/planted.ts'

const test = suite('faults of hosts')

test('there are at least 13 kinds, each with a name of its own and an act', () => {
  const names = new Set(FAULTS.map(({ name }) => name))
  assert.is(names.size, FAULTS.length)
  assert.ok(FAULTS.length >= 13)
  for (const { name, arrange, strike, gone = [] } of FAULTS) {
    assert.ok(arrange ?? strike, name)
    for (const part of gone) assert.ok(part === 'head' || part in PARTS, name)
  }
})

const positions = new Map([
  ['a', 1],
  ['b', 2],
])
const log = { positionOf: (_: string, id: string) => positions.get(id) ?? null }

test('a witness that heard the log finds nothing', () => {
  assert.equal(compareTold('1 a\n2 b\n2 b\n', log), { lost: [], doubled: [], heard: 2 })
})

test('an event that was told and is not in the log is lost', () => {
  assert.equal(compareTold('1 a\n3 c\n', log).lost, ['event c of position 3'])
})

test('an event that was told at another position is lost there', () => {
  assert.equal(compareTold('2 a\n', log).lost, ['event a of position 2'])
})

test('a position that was told for two events is doubled', () => {
  assert.equal(compareTold('2 b\n2 c\n', log).doubled, ['position 2 for b and c'])
})

test('a line that was cut off counts for nothing', () => {
  assert.equal(compareTold('1 a\n2', log), { lost: [], doubled: [], heard: 1 })
})

test('each planted bug edits the code as it is today', () => {
  const names = new Set(PLANTED_HOSTS.map(({ name }) => name))
  assert.is(names.size, PLANTED_HOSTS.length)
  for (const { edits } of PLANTED_HOSTS)
    for (const edit of edits) assert.not.equal(edited(readFileSync(edit.file, 'utf8'), edit), '')
})

test('a preloaded module puts a clock off, and dates of given times stay', () => {
  const { stdout } = spawnSync(
    process.execPath,
    [
      `--import=${resolve('scripts/e2e/clock-off.mjs')}`,
      '--print',
      'const o = performance.timeOrigin + performance.now(); JSON.stringify([Math.round((Date.now() - o) / 6e4), Math.round((new Date().getTime() - o) / 6e4), new Date(5).getTime(), new Date() instanceof Date])',
    ],
    { env: { ...process.env, RL_E2E_CLOCK_MS: '-3600000' }, encoding: 'utf8' },
  )
  assert.equal(JSON.parse(stdout), [-60, -60, 5, true])
})

test.run()
