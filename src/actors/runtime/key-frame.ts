/**
 * A key frame is a decider's state at a position of the log, in a file of the run's folder. After a restart the decider
 * resumes from it instead of from the first event. A frame may be thrown away at any time. A damaged frame is not used.
 * Neither is a frame of other code, another config, other rules or another log.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import type { RunFolder } from '../../broker/connection.ts'
import { type Config, configDigest } from '../../config.ts'
import { explain, RlError } from '../../errors.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import { userRulesOf } from '../../learning/registry.ts'
import { codeDigest } from '../../package.ts'
import { makePrivateFolder } from '../../platform/files.ts'
import type { Decider, DeciderState } from '../decider/decider.ts'
import type { Job } from '../decider/jobs.ts'

/** An event that the decider asked for, with its id and the event that led to it. */
export type Noted = { readonly event: NewEvent; readonly id: string; readonly cause: string }

export type KeyFrame = {
  /** Everything up to here was fed to the decider. */
  readonly position: number
  readonly state: DeciderState
  /** Asked for by the decider, and not known to be in the log. */
  readonly unsent: readonly Noted[]
  /** Jobs without a result, each with the position of the event that asked for it. */
  readonly jobs: readonly { readonly job: Job; readonly position: number }[]
}

export type KeyFrames = {
  /** Number of positions from one key frame to the next. */
  readonly every: number
  /** Frame from which the decider resumes. Null if it begins with the first event. */
  readonly found: KeyFrame | null
  /** Note for people: the position from which the decider resumes, and why an existing file was not used. */
  readonly note: string
  /** Takes a frame of the present state. `write` with the chain's hash at its position (hex) puts it into the file. */
  readonly take: (frame: KeyFrame) => { readonly write: (hash: string) => void }
}

export type KeyFramesOptions = {
  readonly folder: RunFolder
  readonly decider: Decider
  /** The config that the log begins with, and the one that holds now. */
  readonly configs: readonly Config[]
  /** Returns the hash of the log's chain at a position (hex), or '' if there is none. */
  readonly hashAt: (position: number) => string | Promise<string>
  /** Number of events between frames. Default: 20,000. Folding this many events again takes some tenths of a second. */
  readonly every?: number
}

type Stored = { readonly key: string; readonly hash: string; readonly frame: Uint8Array }

const DIGEST_BYTES = 32
const FRAME_EVERY = 20_000

/** Opens the frames of a decider: one file, the newest frame. */
export async function openKeyFrames({
  folder,
  decider,
  configs,
  hashAt,
  every = FRAME_EVERY,
}: KeyFramesOptions): Promise<KeyFrames> {
  const path = join(folder.folder, 'frames', `${decider.role}.frame`)
  const key = keyOf(folder.run, decider, configs)
  const { frame: found, refusal } = await load()

  async function load(): Promise<{ frame: KeyFrame | null; refusal: string | null }> {
    try {
      if (!existsSync(path)) return { frame: null, refusal: null }
      const stored = read(path)
      if (stored.key !== key) return refused('it was made by other code or rules, or under another config')
      const frame = deserialize(stored.frame) as KeyFrame
      if ((await hashAt(frame.position)) !== stored.hash)
        return refused('the log is another, or was rolled back')
      return { frame, refusal: null }
    } catch (error) {
      return refused(error instanceof RlError ? error.message : 'it cannot be read')
    }
  }

  return {
    every,
    found,
    note: found
      ? `goes on from its key frame at position ${found.position}`
      : refusal === null
        ? ''
        : `its key frame is not used: ${refusal}`,
    take(frame) {
      // What the decider is now: its context changes with the next event.
      const bytes = serialize(frame)
      return { write: (hash) => write(path, { key, hash, frame: bytes }) }
    },
  }
}

/**
 * Returns the faults of a run's frames, one line each: damaged files, and frames of another log. A start makes other
 * frames as it needs them.
 */
export function frameFaults(folder: string, hashAt: (position: number) => string): readonly string[] {
  const frames = join(folder, 'frames')
  if (!existsSync(frames)) return []
  const names = readdirSync(frames).filter((name) => name.endsWith('.frame'))
  return names.flatMap((name) => {
    const path = join(frames, name)
    try {
      const { key, hash, frame } = read(path)
      // Another V8 may write otherwise: such a frame is not used, and not damaged.
      if (JSON.parse(key).v8 !== process.versions.v8) return []
      const { position } = deserialize(frame) as KeyFrame
      return hashAt(position) === hash ? [] : [`${path} is not of this log at position ${position}`]
    } catch (error) {
      return [`${path} is damaged: ${explain(error)}`]
    }
  })
}

function refused(refusal: string): { frame: null; refusal: string } {
  return { frame: null, refusal }
}

/** Returns a key that is equal for deciders that decide alike. V8 reads only data of its own or an older version. */
function keyOf(run: string, { role, version }: Decider, configs: readonly Config[]): string {
  return JSON.stringify({
    run,
    role,
    version,
    code: codeDigest(),
    v8: process.versions.v8,
    configs: configs.map(configDigest),
    rules: configs.map(userRulesOf),
  })
}

function read(path: string): Stored {
  const bytes = readFileSync(path)
  const content = bytes.subarray(DIGEST_BYTES)
  if (!digestOf(content).equals(bytes.subarray(0, DIGEST_BYTES)))
    throw new RlError('it is damaged', { code: 'frame.damaged', hint: `${path} may be removed` })
  return deserialize(content) as Stored
}

/** Whole or not at all. Not synced: after a loss of power a frame that is damaged is only not used. */
function write(path: string, stored: Stored): void {
  const content = serialize(stored)
  const part = `${path}.${randomUUID()}.part`
  makePrivateFolder(dirname(path))
  writeFileSync(part, Buffer.concat([digestOf(content), content]), { mode: 0o600 })
  renameSync(part, path)
}

function digestOf(content: Uint8Array): Buffer {
  return createHash('sha256').update(content).digest()
}
