/** Heads and roles in containers: PID namespaces of their own, and one host name. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findNatsServer } from '../src/broker/find.ts'
import type { RlError } from '../src/errors.ts'
import { connectLog } from '../src/events/log-client.ts'
import { connectBus } from '../src/events/nats/connect.ts'
import { eventsBelow } from './support/logged.ts'
import { ALL_PARTS, startProgram } from './support/processes.ts'
import { startTestHead, temporaryFolder, until } from './support/run.ts'
import { SETTINGS } from './support/simulated-run.ts'
import { runStarted } from './support/toy.ts'

const NAMESPACE = ['--pid', '--fork', '--mount-proc', '--kill-child']
const { status, stderr } = spawnSync('unshare', [...NAMESPACE, 'true'], { encoding: 'utf8' })
const missing = status === 0 ? null : `no PID namespace: ${stderr?.trim() || 'unshare is missing'}`

const inContainer = (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  startProgram('unshare', [...NAMESPACE, process.execPath, ...words], env)

function contained(name: string, body: () => Promise<void>): void {
  test(name, async () => {
    if (missing !== null) return console.log(`SKIP ${missing}`)
    await body()
  })
}

/** One that knows no users, as heads on several machines share it. */
async function sharedBroker(): Promise<{ readonly url: string; readonly end: () => void }> {
  const { path } = await findNatsServer()
  const ports = temporaryFolder()
  const words = ['-js', '-sd', temporaryFolder(), '-a', '127.0.0.1', '-p', '-1', '--ports_file_dir', ports]
  const server = startProgram(path, words)
  const told = () => readdirSync(ports).find((name) => name.endsWith('.ports'))
  await until('the broker tells its port', () => told() !== undefined)
  const { nats } = JSON.parse(readFileSync(join(ports, String(told())), 'utf8')) as { nats: string[] }
  return { url: nats[0], end: () => server.process.kill('SIGKILL') }
}

contained('of two heads in containers the second is refused, and the first goes on', async () => {
  const broker = await sharedBroker()
  const roots = [temporaryFolder(), temporaryFolder()]
  const settings = [...SETTINGS, 'run.iterations=1000'].flatMap((setting) => ['--set', setting])
  const start = (root: string) =>
    inContainer(
      ['src/main.ts', '--role', 'head', '--run', 'shared', '--nats', broker.url, ...ALL_PARTS, ...settings],
      {
        RL_RUNS: root,
      },
    )
  const first = start(roots[0])
  const iterations = () => eventsBelow(roots[0])('shared', ['IterationCompleted']).length
  await until('an iteration', () => iterations() > 0, 240_000)
  const second = start(roots[1])
  assert.is(await second.status, 1, second.output())
  assert.match(second.output(), /run 'shared' has a head/)
  const before = iterations()
  await until('the first goes on', () => iterations() > before)
  first.process.kill('SIGKILL')
  await first.status
  broker.end()
})

contained('a role in a container has its role when the head is started again', async () => {
  const root = temporaryFolder()
  const first = await startTestHead({ run: 'crash', root })
  first.service.append([runStarted])
  const role = inContainer(['test/actors/toy-process.ts', 'policy', root, '1', '1'])
  const deciders = () => [...first.log.events({ types: ['ActorStarted'] })]
  await until('the role is taken', () => deciders().length === 1)
  const [{ data }] = deciders() as { data: { pid: number; worker: string } }[]
  assert.is(data.pid, 1)
  await first.close()
  const again = await startTestHead({ run: 'crash', root, heartbeatMs: 5_000 })
  const bus = await connectBus(again.addressOf('policy'))
  const log = connectLog({ bus, run: 'crash', actor: 'policy/other' })
  const other = {
    ...data,
    worker: 'policy/other',
    role: 'policy',
    host: 'h',
    node: 'v24',
    decider: true,
    note: '',
  }
  const refused = await log
    .append([{ type: 'ActorStarted', data: other as never }])
    .catch((error: RlError) => error.code)
  assert.is(refused, 'actor.second-decider')
  role.process.kill('SIGKILL')
  await role.status
  log.close()
  await bus.close()
  await again.close()
})

test.run()
