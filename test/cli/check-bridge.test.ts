/** The check of a bridge, as somebody calls it who makes mistakes. */
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startCounterServer } from '../support/counter-http.ts'
import { startOrsServer } from '../support/ors-server.ts'

const WORD = 'a-word-that-nobody-may-read'

function check(name: string, keys: Readonly<Record<string, unknown>>): Promise<string> {
  const sets = Object.entries(keys).flatMap(([key, value]) => [
    '--set',
    `environment.${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  ])
  const argv = [resolve('src/rl.ts'), name, 'check', '--episodes', '1', ...sets]
  const env = { ...process.env, RL_TEST_WORD: WORD, RL_TEST_BROKEN: `a\n${WORD}` }
  return new Promise((done) => {
    execFile(process.execPath, argv, { env }, (_, stdout, stderr) => done(stdout + stderr))
  })
}

const program = (...words: readonly string[]) => ({
  command: [process.execPath, resolve('test/support/counter-mcp.mjs'), ...words],
})
const read = { tool: 'read', equals: { count: 3 } }

test('each key of the section may stand without its name, and a hint tells the right word', async () => {
  const checker = { tool: 'reed', equals: '3' }
  const said = await check('mcp', {
    servers: { counter: program() },
    checker,
    tools: ['add'],
    timeoutSeconds: 30,
  })
  assert.match(said, /there is no tool 'reed' - there are add, read/)
  assert.match(said, /episodes=0 faults=1/)
})

test('a variable that is not set is told by name, and none is told by value', async () => {
  const server = await startCounterServer({ token: 'other' })
  const by = (more: object) =>
    check('mcp', { servers: { counter: { url: server.url, ...more } }, checker: read })
  try {
    assert.match(
      await by({ tokenEnv: 'RL_TEST_WROD' }),
      /RL_TEST_WROD is not set - tokenEnv of server 'counter'/,
    )
    assert.match(await by({}), /tokenEnv of the server names the variable/)
    const broken = await by({ tokenEnv: 'RL_TEST_BROKEN' })
    assert.match(broken, /RL_TEST_BROKEN has characters/)
    assert.not.match(broken, WORD)
  } finally {
    await server.close()
  }
  const told = await check('mcp', {
    servers: { counter: { ...program('tell'), env: ['RL_TEST_WORD'] } },
    checker: read,
  })
  assert.match(told, /my word is \*\*\*/)
  assert.not.match(told, WORD)
})

test('a server that wants a key, and one that is not there, are told', async () => {
  const server = await startOrsServer({ key: 'other' })
  try {
    assert.match(await check('ors', { url: server.url }), /answers 401 - environment\.ors\.tokenEnv names/)
    const unset = await check('ors', { url: server.url, tokenEnv: 'RL_TEST_WROD' })
    assert.match(unset, /RL_TEST_WROD is not set/)
  } finally {
    await server.close()
  }
  assert.match(await check('ors', { url: server.url }), /ECONNREFUSED/)
})

test.run()
