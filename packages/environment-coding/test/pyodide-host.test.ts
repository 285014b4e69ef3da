import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

const HOST = fileURLToPath(new URL('../src/runner/pyodide_host.mjs', import.meta.url))

test('an interpreter whose parent is gone before it is loaded ends', async () => {
  const host = fork(HOST, [new URL('.', import.meta.resolve('pyodide')).href], {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  host.disconnect()
  const [status] = await once(host, 'exit', { signal: AbortSignal.timeout(120_000) })
  assert.is(status, 0)
})

test.run()
