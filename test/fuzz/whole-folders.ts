/** The folder of a run in which one file was damaged, lost, or replaced. */
import {
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { frameFaults, openKeyFrames } from '../../src/actors/runtime/key-frame.ts'
import {
  type RunFolder,
  readConnection,
  readCredentials,
  runFolder,
  writeConnection,
  writeCredentials,
} from '../../src/broker/connection.ts'
import { takeRunFolder } from '../../src/broker/own-folder.ts'
import { parseConfig } from '../../src/config.ts'
import { RlError } from '../../src/errors.ts'
import type { NewEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { compactLog } from '../../src/events/compact.ts'
import { type EventLog, openLog } from '../../src/events/log.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { refuseLostRun } from '../../src/events/lost-log.ts'
import { pack } from '../../src/events/msgpack.ts'
import { type Verification, verifyLog } from '../../src/events/verify.ts'
import { openKept } from '../../src/projections/kept.ts'
import { readExpectation, writeExpectation } from '../../src/replay/expectation.ts'
import { type Digests, keptDigests, rebuildKept, withKeptFile } from '../../src/replay/projections.ts'
import { toyHead } from '../support/toy.ts'
import { mutateBytes } from './mutate.ts'
import type { Target } from './target.ts'

const RUN = 'fuzz'
const ITERATIONS = 4
/** Ways to harm a file, by the second byte of an input. Most inputs have another content. */
const HARMS = ['content', 'content', 'content', 'content', 'absent', 'folder', 'link'] as const

export const folderTarget: Target = {
  name: 'folders',
  what: 'the folder of a run, one file of it damaged, lost or replaced',
  async open(root) {
    const seed = runFolder(RUN, join(root, 'seed'))
    const folder = runFolder(RUN, join(root, 'runs'))
    await makeRun(seed, join(root, 'writing'))
    const files = filesBelow(seed.folder)
    const contents = files.map((name) => readFileSync(join(seed.folder, name)))
    const intact = PARTS.map(([, read]) => JSON.stringify(read(copied(seed, folder))))
    const frame = await frameOf(copied(seed, folder))
    return {
      make(draw) {
        const at = draw.below(files.length)
        const content = mutateBytes(contents[at], draw.pick(contents), draw)
        return Buffer.concat([Buffer.from([at, draw.below(HARMS.length)]), content])
      },
      async take(input) {
        const name = files[input[0]]
        harm(join(copied(seed, folder).folder, name), HARMS[input[1]], input.subarray(2))
        const found = await frameOf(folder)
        if (found !== null && found !== frame) return `${name}: another key frame is taken`
        // What one reader refuses, the next may still get wrong.
        const refused = new Map<string, RlError>()
        for (const [i, [what, read]] of PARTS.entries()) {
          await new Promise((resolve) => setImmediate(resolve))
          try {
            if (JSON.stringify(read(folder)) !== intact[i]) return `${name}: ${what} is another`
          } catch (error) {
            if (!(error instanceof RlError)) throw error
            refused.set(what, error)
          }
        }
        const [[last, takeUp]] = PARTS.slice(-1)
        if (refused.has(last)) {
          const path = join(folder.folder, name)
          rmSync(path, { recursive: true, force: true })
          writeFileSync(path, contents[input[0]])
          if (JSON.stringify(takeUp(folder)) !== intact.at(-1)) return `${name}: put back, ${last} is another`
        }
        for (const refusal of refused.values()) throw refusal
        return null
      },
    }
  },
}

/** All that commands and a start read. */
const PARTS = [
  ['what lies beside the log', readBeside],
  ['the verified log', look],
  ['a projection', readProjections],
  ['the end of the log at a start', takeUp],
] as const

function copied(seed: RunFolder, folder: RunFolder): RunFolder {
  rmSync(folder.folder, { recursive: true, force: true })
  cpSync(seed.folder, folder.folder, { recursive: true })
  return folder
}

function harm(path: string, how: (typeof HARMS)[number], content: Uint8Array): void {
  rmSync(path)
  if (how === 'content') writeFileSync(path, content)
  else if (how === 'folder') mkdirSync(path)
  else if (how === 'link') symlinkSync('nowhere', path)
}

/** Reads the files beside the log. */
function readBeside(folder: RunFolder): void {
  readConnection(folder.connection)
  readCredentials(folder, 'tool')
  readExpectation(join(folder.folder, 'replay.json'))
}

/** Opens the log as a start does. Returns where it would go on. */
function takeUp(folder: RunFolder): unknown {
  refuseLostRun(folder.log)
  takeRunFolder(folder.folder)
  const log = openLog(folder.log, { run: RUN, minFreeBytes: 0 })
  try {
    if (log.damage) throw log.damage
    return log.head()
  } finally {
    log.close()
  }
}

/** What `rl log verify` and each reader of events find. */
function look(folder: RunFolder): unknown {
  const reader = openLogReader(folder.log)
  try {
    const verified = soundLog(reader)
    frameFaults(folder.folder, reader.hashAt)
    return [reader.run, verified, [...reader.events()].map(({ id }) => id)]
  } finally {
    reader.close()
  }
}

/** What is refused is refused with a position and a reason. */
function soundLog(log: LogReader): Verification {
  const verified = verifyLog(log, { files: true })
  if (!verified.ok) throw new RlError(verified.reason, { code: 'log.damaged' })
  return verified
}

/** A damaged file is refused or read, and folded anew it is right. */
function readProjections(folder: RunFolder): Digests {
  const log = openLogReader(folder.log)
  try {
    refusedOr(() => keptDigests(folder.projections, log))
    refusedOr(() => withKeptFile(folder.projections, (db) => openKept(db).catchUp(log)))
    const { digests } = rebuildKept(folder.projections, log)
    soundLog(log)
    return digests
  } finally {
    log.close()
  }
}

function refusedOr(work: () => unknown): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof RlError)) throw error
  }
}

async function frameOf(folder: RunFolder): Promise<number | null> {
  const { found } = await framesOf(folder)
  return found?.position ?? null
}

function framesOf(folder: RunFolder) {
  return openKeyFrames({
    folder,
    decider: toyHead({ iterations: 1, rollouts: 1 }),
    configs: [CONFIG],
    hashAt: () => 'ab'.repeat(32),
  })
}

const CONFIG = parseConfig({})

/** A run whose head was killed: a part of the log is archived, and a part is in the WAL alone. */
async function makeRun(folder: RunFolder, writing: string): Promise<void> {
  const own = runFolder(RUN, writing)
  const first = openLog(own.log, { run: RUN, minFreeBytes: 0 })
  for (let iteration = 1; iteration < ITERATIONS; iteration++) addIteration(first, iteration)
  first.close()
  compactLog(own.log)
  const reader = openLogReader(own.log)
  rebuildKept(own.projections, reader)
  reader.close()
  const frames = await framesOf(own)
  frames.take({ position: 4, state: {} as never, unsent: [], jobs: [] }).write('ab'.repeat(32))
  writeConnection(own.connection, {
    ...{ run: RUN, url: 'nats://127.0.0.1:4222', token: null, user: 'tool', password: 'secret' },
    ...{ pid: 1, host: 'here', since: 1 },
  })
  writeCredentials(own, 'tool', { url: 'nats://127.0.0.1:4222', password: 'secret' })
  writeExpectation(join(own.folder, 'replay.json'), {
    position: 4,
    decisions: 'ab',
    projections: { accuracy: 'cd' },
    difference: null,
  })
  const log = openLog(own.log, { run: RUN, minFreeBytes: 0 })
  addIteration(log, ITERATIONS)
  cpSync(own.folder, folder.folder, { recursive: true })
  log.close()
  rmSync(writing, { recursive: true })
  for (const name of ['events.db-shm', 'writer.lock', 'writer.lock-journal', 'compact.lock'])
    rmSync(join(folder.folder, name), { force: true })
}

/** Four events: two of them with a blob each. */
function addIteration(log: EventLog, iteration: number): void {
  const picture = log.blobs.put(Buffer.from(`picture ${iteration}`))
  const frame = { ...picture, mediaType: 'image/png', width: 8, height: 8 } as const
  const rollout = `${iteration}/slot/0`
  const frames = { rollout, iteration, task: 'task', frames: [frame] }
  add(log, [
    {
      type: 'IterationStarted',
      data: { iteration, policyVersion: iteration - 1, rewardModelVersion: 0 },
    },
    { type: 'FramesRecorded', data: frames },
    {
      type: 'IterationCompleted',
      data: { iteration, accuracy: { successes: 0, n: 1 }, metrics: { loss: 0.5 } },
    },
  ])
}

function add(log: EventLog, events: readonly NewEvent[]): void {
  for (const { type, data } of events) {
    const at = log.head().position
    const id = `01900000-0000-7000-8000-${String(at).padStart(12, '0')}`
    const kept = type === 'IterationCompleted' ? { $blob: log.blobs.put(pack(data)) } : data
    const envelope = { id, type, v: 1, run: RUN, actor: 'head', time: at, cause: null, data: kept } as const
    log.append([log.check(encodeEnvelope(envelope))])
  }
}

/** Paths of all files, relative to the folder. */
function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => lstatSync(join(folder, name)).isFile())
    .sort()
}
