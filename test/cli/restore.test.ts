/** A head that was killed, and whose log comes back from an older copy: what it lacks is told, and given up by a word. */
import { copyFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { startHead, startProcess } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'

const RUN = 'copied'
const SETTINGS = [
  'environment.module=./test/environments/nim.ts',
  'environment.tasks=6',
  'environment.tasksPerIteration=3',
  'environment.rolloutsPerTask=2',
  'environment.minGroupSize=2',
  'policy.provider=simulated',
  'rewardModel.mode=off',
  'learning.reward=outcome',
  'adaptation.enabled=false',
  'evaluation.splits=[in-domain]',
  'evaluation.tasks=2',
  'run.iterations=2000',
  'run.evaluateEvery=2000',
]

const root = temporaryFolder()
const { log: place, folder } = runFolder(RUN, root)

async function restore(...words: string[]): Promise<{ status: number | null; output: string }> {
  const { status, output } = startProcess(['src/rl.ts', 'restore', RUN, ...words], { RL_RUNS: root })
  return { status: await status, output: output() }
}

function read<Value>(look: (log: LogReader) => Value): Value {
  const log = openLogReader(place)
  try {
    return look(log)
  } finally {
    log.close()
  }
}

function newest(log: string): number {
  const reader = openLogReader(log)
  try {
    return [...reader.events({ types: ['IterationCompleted'] })].at(-1)?.data.iteration ?? 0
  } finally {
    reader.close()
  }
}

const isDone = (iteration: number) => () => {
  try {
    return read((log) => log.byKey(`IterationCompleted/${iteration}`) !== null)
  } catch {
    return false
  }
}

test('a copy that lacks the end is told so, and goes on once the end is given up', async () => {
  const first = startHead(root, RUN, SETTINGS)
  await until('the first iteration', isDone(1))
  const busy = await restore()
  assert.is(busy.status, 1)
  assert.match(busy.output, 'another process is writing this run')
  const copy = path.join(temporaryFolder(), 'events.db')
  const source = new Database(place, { readonly: true })
  source.prepare('VACUUM INTO ?').run(copy)
  source.close()
  const copied = newest(copy)
  await until('later iterations', isDone(copied + 3))
  first.process.kill('SIGKILL')
  await first.status
  const was = read((log) => log.head().position)

  for (const name of ['events.db', 'events.db-wal', 'events.db-shm'])
    rmSync(path.join(folder, name), { force: true })
  copyFileSync(copy, place)
  const had = read((log) => log.head().position)
  const refused = startHead(root, RUN)
  assert.is(await refused.status, 1)
  assert.match(refused.output(), `restore ${RUN} --accept`)

  const told = await restore()
  assert.is(told.status, 1)
  assert.match(told.output, new RegExp(`lost: at least \\d+ events, from position ${had + 1} on`))
  assert.match(told.output, 'open: iteration')
  const json = await restore('--json')
  const { lost } = JSON.parse(json.output)
  assert.ok(lost > 0 && lost <= was - had)

  const accepted = await restore('--accept')
  assert.is(accepted.status, 0, accepted.output)
  assert.match(accepted.output, `go on: npm start -- --role head --run ${RUN}`)
  const second = startHead(root, RUN)
  await until('a later iteration', isDone(newest(place) + 2))
  second.process.kill('SIGINT')
  await second.status
  read((log) => assert.ok(verifyLog(log).ok))
  const after = await restore()
  assert.is(after.status, 0, after.output)
  assert.match(after.output, 'lost: nothing', after.output)
})

test('a log that is not there, and one that is damaged, name the next step', async () => {
  rmSync(place)
  const missing = await restore()
  assert.is(missing.status, 1)
  assert.match(missing.output, 'litestream restore -o')
})

test.run()
