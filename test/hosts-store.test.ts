/** One run on two disks, whose checkpoints go through a store of S3's kind. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { SMALL_SETTINGS } from '../scripts/e2e/small-run.ts'
import { runFolder } from '../src/broker/connection.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { verifyLog } from '../src/events/verify.ts'
import { openS3 } from '../src/platform/s3.ts'
import { type Started, startHead, startProcess } from './support/processes.ts'
import { temporaryFolder, until } from './support/run.ts'
import { noS3, startS3 } from './support/s3-server.ts'

const RUN = 'stored'
const STORE = 's3://weights/runs'
const KEYS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE0002', AWS_SECRET_ACCESS_KEY: 'secret-of-the-store-2' }
const SETTINGS = [...SMALL_SETTINGS, `run.store=${STORE}`, 'run.iterations=1']

/** Processes that a failed test would leave behind. */
const begun: Started[] = []

const skip = noS3()
if (skip !== null) process.stdout.write(`SKIP a run with a store: ${skip}\n`)
else
  test('policy and judge on two disks have each other files by the store, and no key is anywhere', async () => {
    const server = await startS3('weights')
    const env = { ...KEYS, AWS_ENDPOINT_URL: server.url }
    const [a, b] = [temporaryFolder(), temporaryFolder()]
    const file = path.join(temporaryFolder(), 'host.join')
    const head = startHead(a, RUN, SETTINGS, env, [
      ...['--cluster', '127.0.0.1', '--roles', 'policy,environment,adapter'],
    ])
    await until('a head', () => existsSync(runFolder(RUN, a).connection))
    begun.push(head, server.started)
    const words = ['src/rl.ts', 'join', RUN, '--role', 'reward-model', '-o', file]
    const written = startProcess(words, { RL_RUNS: a })
    assert.is(await written.status, 0, written.output())
    const joined = JSON.parse(readFileSync(file, 'utf8'))
    assert.is(joined.store, STORE)

    const check = (more: Readonly<Record<string, string>>) =>
      startProcess(['src/rl.ts', 'doctor', '--join', file, '--json'], { RL_RUNS: b, ...more })
    const fine = check(env)
    assert.is(await fine.status, 0, fine.output())
    const found = fine
      .output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.is(found.find(({ check }) => check === 'store').result, 'ok')
    const without = check({})
    assert.is(await without.status, 1)
    assert.match(without.output(), /AWS_ACCESS_KEY_ID/)

    const judge = startProcess(['src/main.ts', '--join', file], { RL_RUNS: b, ...env })
    begun.push(judge)
    assert.is(await head.status, 0, head.output() + judge.output())
    assert.is(await judge.status, 0, judge.output())
    const log = openLogReader(runFolder(RUN, a).log)
    const store = await openS3(STORE, { env })
    const shared = [...log.events({ types: ['CheckpointShared'] })]
    assert.is(shared.length, 4)
    for (const { data } of shared) {
      assert.is(data.store, STORE)
      for (const part of data.files.flatMap(({ parts }) => parts)) {
        assert.is(log.blobs.has(part.sha256), false, 'nothing lies in the log')
        await store.getBlob(part)
      }
    }
    store.close()
    assert.ok(verifyLog(log).ok)
    const told = [head.output(), judge.output(), readFileSync(file, 'utf8'), without.output(), fine.output()]
    told.push(...[...log.events()].map((event) => JSON.stringify(event)))
    for (const key of Object.values(KEYS)) for (const text of told) assert.not.match(text, key)
    log.close()
    const here = path.join(runFolder(RUN, b).folder, 'checkpoints', 'policy')
    assert.equal(readdirSync(here), ['00000'])
    await server.stop()
  })

test.after(() => {
  for (const { process } of begun) process.kill('SIGKILL')
})

test.run()
