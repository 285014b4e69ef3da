/** A run whose head was killed, and whose WAL or blobs are missing or damaged: it waits for them, and then goes on as if nothing had been. */
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../src/broker/connection.ts'
import type { EventType, LoggedEvent } from '../src/events/catalogue.ts'
import { digestOf } from '../src/events/digest.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { verifyLog } from '../src/events/verify.ts'
import { startHead } from './support/processes.ts'
import { temporaryFolder, until } from './support/run.ts'

const root = temporaryFolder()
copyFileSync('test/environments/nim.ts', join(root, 'nim.ts'))
/** Observations so long that each trajectory rests in a blob, and steps so slow that a head can be killed among them. */
const wordy = join(root, 'wordy.ts')
writeFileSync(
  wordy,
  `import { setting as nim } from './nim.ts'
const tale = 'once upon a time '.repeat(9_000)
const long = (episode) => ({
  ...episode,
  turn: { ...episode.turn, observation: episode.turn.observation + tale },
  async step(action) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    return long(await episode.step(action))
  },
})
export const setting = {
  ...nim,
  progress: undefined,
  open(config, section) {
    const environment = nim.open(config, section)
    return { ...environment, reset: async (task, options) => long(await environment.reset(task, options)) }
  },
}
`,
)

const SETTINGS = [
  ...[`environment.module=${wordy}`, 'environment.tasks=6', 'environment.tasksPerIteration=3'],
  ...['environment.rolloutsPerTask=2', 'environment.minGroupSize=2', 'environment.maxSteps=8'],
  ...['policy.provider=simulated', 'rewardModel.mode=off', 'learning.reward=outcome'],
  ...['adaptation.enabled=false', 'evaluation.splits=[in-domain]', 'evaluation.tasks=2'],
  ...['run.iterations=2', 'run.evaluateEvery=2', 'run.heartbeatSeconds=0.5'],
]

function eventsOf(run: string, types?: readonly EventType[]): readonly LoggedEvent[] {
  const log = openLogReader(runFolder(run, root).log)
  try {
    return [...log.events({ types })]
  } finally {
    log.close()
  }
}

function digestOfRun(run: string): string {
  return digestOf(eventsOf(run).filter(({ type }) => type !== 'RunStarted'))
}

/** Returns the path of a blob that an open iteration needs. */
function neededBlob(run: string): string {
  const { folder } = runFolder(run, root)
  const log = openLogReader(join(folder, 'events.db'))
  try {
    const [{ position }] = eventsOf(run, ['TrajectoryCompleted']).slice(-1)
    const [sha256] = /[0-9a-f]{64}/.exec(String(log.row(position)?.body.toString('latin1'))) ?? ['']
    return join(folder, 'blobs', sha256.slice(0, 2), sha256)
  } finally {
    log.close()
  }
}

function flip(file: string): void {
  const bytes = readFileSync(file)
  bytes[bytes.length >> 1] ^= 1
  writeFileSync(file, bytes)
}

test('a killed run without its WAL or a blob is refused by the name, and put back it ends as an undisturbed one', async () => {
  const whole = startHead(root, 'whole', SETTINGS)
  assert.is(await whole.status, 0, whole.output())

  const killed = startHead(root, 'killed', SETTINGS)
  const { log } = runFolder('killed', root)
  const isUnderWay = () => {
    try {
      return eventsOf('killed', ['TrajectoryCompleted']).some(
        ({ data }) => 'iteration' in data && data.iteration === 2,
      )
    } catch {
      return false
    }
  }
  await until('a rollout of the second iteration', isUnderWay, 120_000)
  killed.process.kill('SIGKILL')
  await killed.status
  assert.is(
    eventsOf('killed', ['IterationCompleted']).length < eventsOf('whole', ['IterationCompleted']).length,
    true,
  )

  const blob = neededBlob('killed')
  for (const [file, damage] of [
    [`${log}-wal`, rmSync],
    [`${log}-wal`, flip],
    [blob, rmSync],
    [blob, flip],
  ] as const) {
    const kept = readFileSync(file)
    damage(file)
    const before = readFileSync(log)
    const refused = startHead(root, 'killed')
    assert.is(await refused.status, 1, refused.output())
    assert.ok(refused.output().includes(basename(file)), refused.output())
    assert.ok(readFileSync(log).equals(before), 'the log is as it was')
    writeFileSync(file, kept)
    const reader = openLogReader(log)
    assert.ok(verifyLog(reader).ok)
    reader.close()
  }
  const last = startHead(root, 'killed')
  assert.is(await last.status, 0, last.output())
  assert.is(digestOfRun('killed'), digestOfRun('whole'))
})

test.run()
