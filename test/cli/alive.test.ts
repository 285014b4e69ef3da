/** `rl alive` against real runs: whoever probes learns by the exit status alone. */
import { readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { type Started, startHead, startProcess } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'
import { SETTINGS } from '../support/simulated-run.ts'

const root = temporaryFolder()
const RUN = 'living'
/** It goes on for as long as the test needs it. */
const settings = [...SETTINGS.filter((word) => !word.startsWith('run.iterations')), 'run.iterations=100000']

async function alive(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { status, output } = startProcess(['src/rl.ts', 'alive', ...words], { RL_RUNS: root, ...env })
  return { status: await status, output: output() }
}

const statusOf = async (...words: readonly string[]) => (await alive(words)).status

let head: Started
test.before(async () => {
  assert.is(await statusOf(RUN), 1, 'before its head was started')
  head = startHead(root, RUN, settings, {}, ['--no-ui'])
  await until('the head lives', async () => (await statusOf(RUN)) === 0)
})
test.after(() => void head.process.kill('SIGKILL'))

test('a role of this machine lives once it was started, and a role that nobody started does not', async () => {
  for (const role of ['environment', 'policy', 'reward-model', 'adapter'])
    await until(role, async () => (await statusOf(RUN, '--role', role)) === 0)
  const { status, output } = await alive([RUN, '--role', 'executor', '--json'])
  assert.is(status, 1)
  const { alive: lives, silentMs, processes, reason } = JSON.parse(output)
  assert.equal([lives, silentMs, processes], [false, null, []])
  assert.match(reason, /no process has said anything in .*alive/)
})

test('a head on another machine is asked over the bus', async () => {
  const { connection } = runFolder(RUN, root)
  await until('the head can be reached', () => {
    try {
      return readFileSync(connection, 'utf8').endsWith('}\n')
    } catch {
      return false
    }
  })
  const { url, user, password } = JSON.parse(readFileSync(connection, 'utf8'))
  const elsewhere = { RL_RUNS: temporaryFolder(), NATS_USER: user, NATS_PASSWORD: password }
  await until('it answers', async () => (await alive([RUN, '--nats', url], elsewhere)).status === 0)
  const nobody = await alive([RUN, '--nats', 'nats://127.0.0.1:9', '--json'], elsewhere)
  assert.is(nobody.status, 1)
  assert.match(JSON.parse(nobody.output).reason, /127\.0\.0\.1:9/)
})

test('a head that stands still does not live, and lives again when it goes on', async () => {
  head.process.kill('SIGSTOP')
  await until('it is silent', async () => (await statusOf(RUN, '--within', '1')) === 1)
  assert.match((await alive([RUN, '--within', '1'])).output, /has said nothing for \d+\.\d s/)
  head.process.kill('SIGCONT')
  await until('it speaks', async () => (await statusOf(RUN)) === 0)
})

test('a head that was killed does not live, and one that ended in good order left nothing', async () => {
  head.process.kill('SIGKILL')
  await head.status
  const { status, output } = await alive([RUN, '--json'])
  assert.is(status, 1)
  assert.equal(
    JSON.parse(output).processes.map(({ life }: { life: string }) => life),
    ['ended'],
  )
  await until('its roles ended', async () => (await statusOf(RUN, '--role', 'environment')) === 1)
  head = startHead(root, RUN, [], {}, ['--no-ui'])
  await until('it lives again', async () => (await statusOf(RUN)) === 0)
  head.process.kill('SIGTERM')
  await head.status
  const left = JSON.parse((await alive([RUN, '--json'])).output)
  assert.equal([left.alive, left.processes], [false, []])
})

test('a wrong word is told as such', async () => {
  for (const words of [[], [RUN, '--role', 'nobody'], [RUN, '--within', '0'], [RUN, '--witin', '3']])
    assert.is(await statusOf(...words), 2, words.join(' '))
})

test.run()
