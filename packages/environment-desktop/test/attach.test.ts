/** PyPI's desktop-env 1.0.2 on a server of ours. RL_TEST_DESKTOP_ENV names a Python that has it (`pip install --no-deps`, and what it imports at once). */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openDesktop } from '../src/local/desktop.ts'
import { startDesktopServer } from '../src/osworld/server.ts'
import { canRun } from './support.ts'

const python = process.env.RL_TEST_DESKTOP_ENV
const run = promisify(execFile)

test("OSWorld's client attaches, plays three tasks and evaluates", async () => {
  if (!python) {
    process.stdout.write('SKIP desktop-env: RL_TEST_DESKTOP_ENV names no Python that has it\n')
    return
  }
  if (!canRun('desktop-env', 'mousepad')) return
  const desktop = await openDesktop()
  const server = await startDesktopServer({ desktop })
  try {
    const { stdout } = await run(python, ['packages/environment-desktop/test/attach.py', String(server.port)])
    const scores = [...stdout.matchAll(/^evaluate t\d (\S+)$/gm)].map(([, score]) => Number(score))
    assert.equal(scores, [1, 1, 0])
  } finally {
    await server.close()
    await desktop.close()
  }
})

test.run()
