/** The Python of docs/subscribers.md, run as it stands there. RL_TEST_PYTHON names a Python that has nats-py and msgpack. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { environmentOf } from '../../src/broker/connection.ts'
import type { NewEvent } from '../../src/events/catalogue.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'

const python = process.env.RL_TEST_PYTHON ?? 'python3'
const [, code] = /```python\n([\s\S]*?)```/.exec(readFileSync('docs/subscribers.md', 'utf8')) ?? []
const paused: NewEvent = { type: 'RunPaused', data: { reason: 'python' } }

function countsIn(file: string): { n: number; position: number } | null {
  if (!existsSync(file)) return null
  const db = new Database(file, { readonly: true, timeout: 5000 })
  try {
    return db.prepare('SELECT n, position FROM counts, stored').get() as {
      n: number
      position: number
    } | null
  } catch {
    return null
  } finally {
    db.close()
  }
}

test('the documented Python catches up, goes on live, and begins where it stopped', async () => {
  assert.ok(code)
  if (spawnSync(python, ['-c', 'import nats, msgpack']).status !== 0) {
    console.log(
      'SKIP the Python subscriber: nats-py and msgpack are not there (RL_TEST_PYTHON names a Python)',
    )
    return
  }
  const head = await startTestHead()
  const root = temporaryFolder()
  const [script, file] = [join(root, 'subscriber.py'), join(root, 'counts.db')]
  writeFileSync(script, code)
  head.service.append(Array.from({ length: 2_500 }, () => paused))
  for (let round = 1; round <= 2; round++) {
    const child = spawn(python, [script, 'test', file], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...environmentOf(head.addressOf('tool')) },
    })
    const gone = new Promise((resolve) => child.once('exit', resolve))
    const before = head.log.head().position
    await until('caught up', () => countsIn(file)?.position === before, 120_000)
    head.service.append(Array.from({ length: 500 }, () => paused))
    await until('live', () => countsIn(file)?.position === before + 500, 120_000)
    child.kill('SIGKILL')
    await gone
    assert.equal(countsIn(file), { n: 2_500 + 500 * round, position: 2_500 + 500 * round })
  }
  await head.close()
})

test.run()
