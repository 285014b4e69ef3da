/** Signs of life of this process, of others, and of those that cannot be seen from here. */
import { readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { THIS_PROCESS } from '../../src/platform/process-id.ts'
import { giveSigns, readSigns } from '../../src/platform/signs-of-life.ts'
import { temporaryFolder } from '../support/run.ts'

const ELSEWHERE = 'worker.0123456789abcdef-7-42'

/** Leaves a sign of a process of another machine, as old as told. */
function leave(folder: string, name: string, ageMs: number): void {
  const time = new Date(Date.now() - ageMs)
  writeFileSync(join(folder, name), '')
  utimesSync(join(folder, name), time, time)
}

test('a process gives signs until it ends, and only its owner reads them', () => {
  const folder = join(temporaryFolder(), 'alive')
  const end = giveSigns(folder, 'head')
  const [sign] = readSigns(folder, 'head')
  assert.equal([sign?.pid, sign?.life], [THIS_PROCESS.pid, 'lives'])
  assert.equal(readSigns(folder, 'worker'), [])
  if (process.platform !== 'win32') assert.is(statSync(folder).mode & 0o077, 0)
  end()
  assert.equal(readdirSync(folder), [])
})

test('a process that cannot be seen from here is judged by its silence, and forgotten at last', () => {
  const folder = temporaryFolder()
  leave(folder, ELSEWHERE, 0)
  leave(folder, `head.${THIS_PROCESS.place}-${THIS_PROCESS.pid}-1`, 0)
  writeFileSync(join(folder, 'worker.nonsense'), '')
  assert.equal(
    readSigns(folder, 'worker').map(({ pid, life }) => [pid, life]),
    [[7, 'unknown']],
  )
  // The number is taken, but by this process: the one that gave the sign has ended.
  if (THIS_PROCESS.start !== '') assert.is(readSigns(folder, 'head')[0]?.life, 'ended')
  giveSigns(folder, 'head')()
  assert.is(readSigns(folder, 'worker').length, 1)
  leave(folder, ELSEWHERE, 7_200_000)
  giveSigns(folder, 'head')()
  assert.equal(readSigns(folder, 'worker'), [])
})

test('a clock that was set back counts as silence, and a folder that is gone stays so', () => {
  const folder = join(temporaryFolder(), 'alive')
  const end = giveSigns(folder, 'head')
  leave(folder, ELSEWHERE, -600_000)
  assert.ok((readSigns(folder, 'worker')[0]?.silentMs ?? 0) > 500_000)
  rmSync(folder, { recursive: true })
  assert.equal(readSigns(folder, 'head'), [])
  end()
})

test.run()
