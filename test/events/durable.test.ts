/** What is told to be durable has reached the disk: the calls of the system say so. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { temporaryFolder } from '../support/run.ts'

const CALLS = 'trace=fsync,fdatasync,rename,renameat,renameat2,write'
const canTrace = spawnSync('strace', ['-f', 'true']).status === 0

/** Calls of the system, cut where the process says that something is durable. */
function callsBefore(what: string, lines: readonly string[]): string[][] {
  const parts: string[][] = [[]]
  for (const line of lines)
    if (/ write\(1</.test(line)) {
      if (line.includes(what)) parts.push([])
      else parts[parts.length - 1] = []
    } else parts.at(-1)?.push(line)
  return parts.slice(0, -1)
}

if (canTrace)
  test('an event and a blob are on the disk before anybody hears that they are there', () => {
    const folder = temporaryFolder()
    const trace = join(folder, 'trace')
    const program = fileURLToPath(new URL('durable-process.ts', import.meta.url))
    const words = ['-f', '-y', '-s', '40', '-e', 'signal=none', '-e', CALLS, '-o', trace]
    const { status, stderr } = spawnSync('strace', [...words, process.execPath, program, folder])
    assert.is(status, 0, String(stderr))
    const lines = readFileSync(trace, 'utf8').split('\n')
    const events = callsBefore('an event is durable', lines)
    assert.is(events.length, 3)
    for (const calls of events)
      assert.ok(calls.some((call) => /f(data)?sync\(\d+<.*events\.db-wal>/.test(call)))
    const blobs = callsBefore('a blob is durable', lines)
    assert.is(blobs.length, 2)
    for (const calls of blobs) {
      const synced = calls.findIndex((call) => /fsync\(\d+<.*\.part>/.test(call))
      const named = calls.findIndex((call) => /rename.*\.part/.test(call))
      assert.ok(synced >= 0 && synced < named, calls.join('\n'))
      assert.ok(
        calls.slice(named).some((call) => /fsync\(\d+<.*blobs\/..>/.test(call)),
        'its name is synced',
      )
    }
  })
else console.log('SKIP what reaches the disk: strace is not here, or may not trace')

test.run()
