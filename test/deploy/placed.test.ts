/**
 * A run as the files of integrations/deploy place it, without containers: the broker of the compose file over TLS, and
 * the head and a further worker by the commands of the manifests, in folders of their own.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parse } from 'yaml'
import { z } from 'zod'
import { answers } from '../../scripts/deploy/check.ts'
import { withValues } from '../../scripts/deploy/shell-words.ts'
import { findNatsServer } from '../../src/broker/find.ts'
import { eventsBelow } from '../support/logged.ts'
import { startProcess, startProgram } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'
import { SETTINGS } from '../support/simulated-run.ts'

const DEPLOY = 'integrations/deploy'
const RUN = 'main'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  assert.ok(address !== null && typeof address === 'object')
  return address.port
}

/** Fields of a broker's monitor by which KEDA scales. */
const monitorSchema = z.object({
  account_details: z.array(
    z.object({
      name: z.string(),
      stream_detail: z.array(
        z.object({
          name: z.string(),
          consumer_detail: z
            .array(z.object({ name: z.string(), num_pending: z.int(), num_ack_pending: z.int() }))
            .optional(),
        }),
      ),
    }),
  ),
})

/** Starts the broker of the compose file with secrets of secrets.sh. */
async function startBroker() {
  const secrets = temporaryFolder()
  const made = startProgram('bash', [join(DEPLOY, 'secrets.sh'), secrets, '127.0.0.1'])
  assert.is(await made.status, 0, made.output())
  const [port, monitor] = [await freePort(), await freePort()]
  const text = readFileSync(join(DEPLOY, 'compose/nats.conf'), 'utf8')
    .replace('0.0.0.0:4222', `127.0.0.1:${port}`)
    .replace('127.0.0.1:8222', `127.0.0.1:${monitor}`)
    .replaceAll('/run/secrets', secrets)
    .replace('"/data"', JSON.stringify(join(secrets, 'store')))
  const config = join(secrets, 'nats.conf')
  writeFileSync(config, text)
  const [, token = ''] = /^NATS_TOKEN=(\S+)$/m.exec(readFileSync(join(secrets, 'broker.env'), 'utf8')) ?? []
  const { path } = await findNatsServer()
  const server = startProgram(path, ['-c', config], { NATS_TOKEN: token })
  await until('the broker listens', () => server.output().includes('Server is ready'))
  return {
    url: `tls://127.0.0.1:${port}`,
    monitor: `http://127.0.0.1:${monitor}`,
    env: { NATS_TOKEN: token, NATS_CA: join(secrets, 'ca.crt') },
    stop: () => server.process.kill('SIGTERM'),
  }
}

/** The words of the head in the compose file, and of the worker in the manifest. */
function wordsOf(url: string): { readonly head: readonly string[]; readonly worker: readonly string[] } {
  const compose = parse(readFileSync(join(DEPLOY, 'compose/compose.yaml'), 'utf8'), { merge: true })
  const worker = parse(readFileSync(join(DEPLOY, 'kubernetes/base/worker.yaml'), 'utf8'))
  const filled = (words: readonly string[]) =>
    words.map((word) => withValues(word).replace('tls://nats:4222', url))
  return {
    head: filled(compose.services.head.command),
    worker: filled(worker.spec.template.spec.containers[0].args),
  }
}

const lacks = ['bash', 'openssl'].find(
  (program) => !answers(program, [program === 'bash' ? '--version' : 'version']),
)
if (lacks !== undefined) console.log(`SKIP a run as it is placed: there is no ${lacks}`)
else
  test('a worker that the manifests place plays rollouts, is probed, and leaves in good order', async () => {
    const broker = await startBroker()
    const words = wordsOf(broker.url)
    const [root, elsewhere] = [temporaryFolder(), temporaryFolder()]
    const settings = SETTINGS.filter((one) => !one.startsWith('run.iterations'))
    const set = [...settings, 'run.iterations=100000'].flatMap((one) => ['--set', one])
    const head = startProcess(['src/rl.ts', ...words.head, ...set], { ...broker.env, RL_RUNS: root })
    const probe = (runs: string, ...more: readonly string[]) =>
      startProcess(['src/rl.ts', 'alive', RUN, '--within', '30', ...more], { RL_RUNS: runs }).status
    await until('the head lives', async () => (await probe(root)) === 0)
    await until('the run has begun', () => eventsBelow(root)(RUN, ['IterationStarted']).length > 0)

    const worker = startProcess(['src/rl.ts', ...words.worker], { ...broker.env, RL_RUNS: elsewhere })
    await until('the worker lives', async () => (await probe(elsewhere, '--role', 'environment')) === 0)
    assert.is(await probe(elsewhere), 1, 'no head is on the host of the worker')
    const players = () => new Set(eventsBelow(root)(RUN, ['TrajectoryCompleted']).map(({ actor }) => actor))
    await until('both hosts play', () => players().size === 2)

    const scale = parse(readFileSync(join(DEPLOY, 'kubernetes/base/scale.yaml'), 'utf8'))
    const { account, stream, consumer } = scale.spec.triggers[0].metadata
    const asked = await fetch(`${broker.monitor}/jsz?streams=true&consumers=true`)
    const { account_details } = monitorSchema.parse(await asked.json())
    const queues = account_details.find(({ name }) => name === account)?.stream_detail
    const workers = queues?.find(({ name }) => name === stream)?.consumer_detail
    assert.ok(
      workers?.some(({ name }) => name === consumer),
      'KEDA finds the queue',
    )

    worker.process.kill('SIGTERM')
    assert.is(await worker.status, 0, worker.output())
    assert.is(await probe(elsewhere, '--role', 'environment'), 1)
    head.process.kill('SIGTERM')
    await head.status
    broker.stop()
  })

test.run()
