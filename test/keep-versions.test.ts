/** A run that keeps the newest weights alone: what is deleted, who hears of it, and what a fork still needs. */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { SMALL_SETTINGS } from '../scripts/e2e/small-run.ts'
import { openCollector } from '../src/actors/head/collector.ts'
import { runFolder } from '../src/broker/connection.ts'
import { trainedVersion } from '../src/cli/trained-version.ts'
import type { NewEvent } from '../src/events/catalogue.ts'
import { openLog } from '../src/events/log.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { hasBegun } from '../src/events/starts.ts'
import { verifyLog } from '../src/events/verify.ts'
import { forkRun } from '../src/replay/fork.ts'
import { errorOf } from './support/error-of.ts'
import { type Started, startHead, startProcess } from './support/processes.ts'
import { temporaryFolder, until } from './support/run.ts'

const RUN = 'kept'
const SETTINGS = [...SMALL_SETTINGS, 'run.iterations=4', 'run.keepVersions=2', 'adaptation.enabled=false']

function versions(root: string, role: string): readonly string[] {
  return readdirSync(path.join(runFolder(RUN, root).folder, 'checkpoints', role)).sort()
}

async function joined(role: string, root: string, head: string): Promise<Started> {
  const file = path.join(temporaryFolder(), 'host.join')
  const { status, output } = startProcess(['src/rl.ts', 'join', RUN, '--role', role, '-o', file], {
    RL_RUNS: head,
  })
  assert.is(await status, 0, output())
  return startProcess(['src/main.ts', '--join', file], { RL_RUNS: root })
}

test('old weights leave all disks, and whoever asks for them hears why', async () => {
  const [a, b] = [temporaryFolder(), temporaryFolder()]
  const head = startHead(a, RUN, SETTINGS, {}, [
    '--cluster',
    '127.0.0.1',
    '--roles',
    'policy,environment,adapter',
  ])
  await until('a head', () => existsSync(runFolder(RUN, a).connection) && hasBegun(runFolder(RUN, a).log))
  const judge = await joined('reward-model', b, a)
  assert.is(await head.status, 0, head.output() + judge.output())
  assert.is(await judge.status, 0, judge.output())

  assert.equal(versions(a, 'policy'), ['00000', '00003', '00004'])
  assert.not(versions(b, 'reward-model').includes('00001'))

  const log = openLogReader(runFolder(RUN, a).log)
  const told = [...log.events({ types: ['CheckpointsCollected'] })].map(({ data }) => data)
  assert.equal(
    told.filter(({ role }) => role === 'policy').flatMap(({ versions }) => versions),
    [1, 2],
  )
  const partsOf = (role: string, version: number) =>
    [...log.events({ types: ['CheckpointShared'] })]
      .filter(({ data }) => data.role === role && data.version === version)
      .flatMap(({ data }) => data.files.flatMap(({ parts }) => parts))
  const lies = (role: string, version: number) =>
    partsOf(role, version).filter(({ sha256 }) => log.blobs.has(sha256)).length
  assert.is(lies('policy', 4), partsOf('policy', 4).length)
  assert.is(lies('reward-model', 0), partsOf('reward-model', 0).length)
  assert.ok(lies('policy', 1) < partsOf('policy', 1).length)
  assert.ok(lies('reward-model', 2) < partsOf('reward-model', 2).length)
  assert.ok(verifyLog(log).ok)

  process.env.RL_RUNS = a
  const gone = await errorOf(trainedVersion(`${RUN}@1`))
  assert.is(gone.code, 'model.collected')
  assert.match(gone.message, 'policy version 1')
  const first = log.byKey('IterationCompleted/1')?.position ?? 0
  assert.throws(
    () => forkRun(runFolder(RUN, a), runFolder('late', a), { at: first, set: [] }),
    (error: { code: string }) => error.code === 'model.collected',
  )
  log.close()
})

test('weights that a fork goes on from stay', async () => {
  const root = temporaryFolder()
  const all = SETTINGS.filter((setting) => !setting.startsWith('run.keepVersions'))
  const parent = startHead(root, RUN, [...all, 'run.iterations=3'])
  assert.is(await parent.status, 0, parent.output())
  process.env.RL_RUNS = root
  const folder = runFolder(RUN, root)
  const log = openLog(folder.log, { run: RUN })
  const told: NewEvent[] = []
  const collect = openCollector({ folder, log, keep: 2, append: (events) => told.push(...events) })
  const at = log.byKey('IterationCompleted/1')?.position ?? 0
  forkRun(folder, runFolder('child', root), { at, set: [] })
  collect()
  assert.equal(told, [])
  assert.equal(versions(root, 'policy'), ['00000', '00001', '00002', '00003'])

  rmSync(runFolder('child', root).folder, { recursive: true })
  openCollector({ folder, log, keep: 2, append: (events) => told.push(...events) })()
  assert.equal(
    told.map(({ data }) => data),
    [
      { role: 'policy', versions: [1] },
      { role: 'reward-model', versions: [1] },
    ],
  )
  assert.equal(versions(root, 'policy'), ['00000', '00002', '00003'])
  log.close()
})

test.run()
