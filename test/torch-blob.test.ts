/** How integrations/torch fetches blobs. RL_TEST_PYTHON names a Python that has nats-py and msgpack; SKIP where they are missing. */

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { decode as unpack } from '@msgpack/msgpack'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { environmentOf } from '../src/broker/connection.ts'
import { pack } from '../src/events/msgpack.ts'
import { subjectsOf } from '../src/events/subjects.ts'
import { lacks, PYTHON } from './support/python.ts'
import { startTestHead } from './support/run.ts'

const SCRIPT = `
import asyncio, json, sys
from rlanything_trainer.run import Refused, Run, address

async def main():
    run = Run("other", "policy", address("other", "policy", None, "nowhere"))
    await run.open()
    try:
        print(len(await run.blob(json.loads(sys.argv[1]))))
    except Refused as refused:
        print(refused)
    await run.close()

asyncio.run(main())
`

const lacking = lacks('nats', 'msgpack')
if (lacking)
  test('blobs of the trainer in PyTorch', () => {
    console.log(`SKIP blobs of the trainer in PyTorch: ${lacking}`)
  })
else
  test('a blob comes in parts; one that ends too early is refused, and not asked for without end', async () => {
    const head = await startTestHead()
    const content = Buffer.from('some bytes of a batch')
    let held = content.length
    head.bus.serve(subjectsOf('other').blob('get'), null, (body) => {
      const { offset } = unpack(body) as { offset: number }
      return pack({ chunk: new Uint8Array(content.subarray(offset, Math.min(offset + 4, held))) })
    })
    const ref = { sha256: createHash('sha256').update(content).digest('hex'), bytes: content.length }
    const env = { ...process.env, ...environmentOf(head.address), PYTHONPATH: 'integrations/torch' }
    const fetch = async () => {
      const args = ['-c', SCRIPT, JSON.stringify(ref)]
      const { stdout } = await promisify(execFile)(PYTHON, args, { env, timeout: 60_000 })
      return stdout.trim()
    }
    assert.is(await fetch(), '21')
    held = 8
    assert.is(await fetch(), `blob ${ref.sha256} ends at 8 of 21 bytes`)
    await head.close()
  })

test.run()
