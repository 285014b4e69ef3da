/** One run on two disks: local models, and no path in common. */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { SMALL_SETTINGS } from '../scripts/e2e/small-run.ts'
import { runFolder } from '../src/broker/connection.ts'
import { trainedVersion } from '../src/cli/trained-version.ts'
import { digestOf } from '../src/events/digest.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { verifyLog } from '../src/events/verify.ts'
import { errorOf } from './support/error-of.ts'
import { type Started, startHead, startProcess } from './support/processes.ts'
import { temporaryFolder, until } from './support/run.ts'

const RUN = 'hosts'
const SETTINGS = [...SMALL_SETTINGS, 'run.iterations=2']

function logIn(root: string) {
  return openLogReader(runFolder(RUN, root).log)
}

const CLUSTER = '127.0.0.1'

/** The words of a command on the head's host. */
async function rl(root: string, ...words: string[]): Promise<string> {
  const { status, output } = startProcess(['src/rl.ts', ...words], { RL_RUNS: root })
  assert.is(await status, 0, output())
  return output()
}

/** A role on another disk, by the file that lets it join. */
async function join(role: string, root: string, head: string): Promise<Started> {
  const file = path.join(temporaryFolder(), 'host.join')
  await rl(head, 'join', RUN, '--role', role, '-o', file)
  return startProcess(['src/main.ts', '--join', file], { RL_RUNS: root })
}

const DEADLINE_MS = 240_000

/** Resolves to the status of a process. Ends it if it takes too long, and says what it printed. */
async function ended({ process: child, status, output }: Started): Promise<number | null> {
  const timer = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS)
  try {
    const found = await status
    assert.is.not(found, null, `it did not end by itself: ${output()}`)
    return found
  } finally {
    clearTimeout(timer)
  }
}

test('policy and judge on two disks make the events of one machine', async () => {
  const one = temporaryFolder()
  const whole = startHead(one, RUN, SETTINGS)
  assert.is(await ended(whole), 0, whole.output())

  const [a, b] = [temporaryFolder(), temporaryFolder()]
  const head = startHead(a, RUN, SETTINGS, {}, ['--cluster', CLUSTER, '--roles', 'policy,environment'])
  await until('a head', () => existsSync(runFolder(RUN, a).connection))
  const others = await Promise.all(['reward-model', 'adapter'].map((role) => join(role, b, a)))
  assert.is(await ended(head), 0, head.output() + others.map(({ output }) => output()).join('\n'))
  for (const other of others) assert.is(await ended(other), 0, `it ends with the run: ${other.output()}`)

  const [alone, apart] = [logIn(one), logIn(a)]
  assert.is(digestOf(apart.events()), digestOf(alone.events()))
  assert.is([...alone.events({ types: ['CheckpointShared'] })].length, 0, 'one disk shares nothing')
  const shared = [...apart.events({ types: ['CheckpointShared'] })].map(
    ({ data }) => `${data.role}/${data.version}`,
  )
  assert.equal(shared.sort(), [
    'policy/0',
    'policy/1',
    'policy/2',
    'reward-model/0',
    'reward-model/1',
    'reward-model/2',
  ])
  assert.ok(verifyLog(apart).ok)
  const here = (root: string, role: string) => {
    const folder = path.join(runFolder(RUN, root).folder, 'checkpoints', role)
    return existsSync(folder) ? readdirSync(folder).sort() : []
  }
  assert.equal(here(a, 'reward-model'), [])
  assert.equal(here(b, 'policy'), ['00000'], 'what the cold start of the judge begins with')
  alone.close()
  apart.close()

  const newest = path.join(runFolder(RUN, a).folder, 'checkpoints', 'policy', '00002')
  const files = readdirSync(newest).sort()
  rmSync(newest, { recursive: true })
  process.env.RL_RUNS = a
  assert.is((await trainedVersion(RUN)).folder, newest)
  assert.equal(readdirSync(newest).sort(), files, 'it comes out of the log')
})

test('weights that nobody shared are an error that names the folder', async () => {
  const root = temporaryFolder()
  const head = startHead(root, RUN, SETTINGS)
  assert.is(await ended(head), 0, head.output())
  const newest = path.join(runFolder(RUN, root).folder, 'checkpoints', 'policy', '00002')
  rmSync(newest, { recursive: true })
  process.env.RL_RUNS = root
  const error = await errorOf(trainedVersion(RUN))
  assert.is(error.code, 'model.elsewhere')
  assert.match(error.message, newest)
})

test.run()
