/** The Python of docs/external-trainers.md, run as it stands there. RL_TEST_PYTHON names a Python that has nats-py, msgpack and numpy. */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { environmentOf } from '../../src/broker/connection.ts'
import type { EventData } from '../../src/events/catalogue.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { pack } from '../../src/events/msgpack.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'

const python = process.env.RL_TEST_PYTHON ?? 'python3'
const [, code] = /```python\n([\s\S]*?)```/.exec(readFileSync('docs/external-trainers.md', 'utf8')) ?? []
const TRAIN = `
def train(segments, batch, path):
    assert all(segment["tokensI32"].tolist() == [1, 2, 3] for segment in segments)
    return "ab" * 32, {"segments": float(len(segments))}

asyncio.run(main(train))
`

test('the documented trainer answers every batch, also those of which it was not told', async () => {
  assert.ok(code)
  if (spawnSync(python, ['-c', 'import nats, msgpack, numpy']).status !== 0) {
    console.log(
      'SKIP the Python trainer: nats-py, msgpack and numpy are not there (RL_TEST_PYTHON names a Python)',
    )
    return
  }
  const head = await startTestHead()
  const log = connectLog({ bus: head.bus, run: 'test', actor: 'head' })
  const file = await log.putBlob(
    pack({ segments: [{ tokensI32: new Uint8Array(Int32Array.of(1, 2, 3).buffer) }] }),
  )
  const ready = (version: number): EventData<'BatchReady'> => ({
    ...{ iteration: version, version, parentVersion: version - 1, parent: null, format: 'rl-batch/1', file },
    ...{ samples: 1, tokens: 3, trainedTokens: 1, trainedOn: [], metrics: {}, options: {}, seed: [1, 2] },
    deadlineSeconds: 600,
  })
  const answered = (version: number) => head.log.byKey(`PolicyUpdated/${version}`) !== null
  const script = join(temporaryFolder(), 'trainer.py')
  writeFileSync(script, code + TRAIN)
  const child = spawn(python, [script], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...environmentOf(head.addressOf('policy-worker')), RUN: 'test' },
  })
  try {
    head.service.append([{ type: 'BatchReady', data: ready(1) }])
    await until('the first batch is answered', () => answered(1), 120_000)
    for (let version = 2; version <= 4; version++) {
      const restarts = head.broker?.restarts() ?? 0
      process.kill(head.broker?.pid() ?? 0, 'SIGKILL')
      // Published as soon as the head is back, before the trainer is.
      head.service.append([{ type: 'BatchReady', data: ready(version) }])
      const back = () => (head.broker?.restarts() ?? 0) > restarts && head.bus.connected()
      await until('the broker is back', back, 120_000)
      await until(`batch ${version} is answered`, () => answered(version), 120_000)
    }
  } finally {
    child.kill('SIGKILL')
    log.close()
    await head.close()
  }
})

test.run()
