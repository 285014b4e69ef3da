/** Screens of rollouts. A blob is served only if an event of the run names it as a screen. */
import { RlError } from '../../errors.ts'
import type { LogReader } from '../../events/log-reader.ts'
import type { Frame } from '../logic/answers.ts'
import { eventAt } from './event-at.ts'
import type { OpenRun } from './open-runs.ts'

/** Larger files are not sent: a screen has some hundred kB. */
const MOST_BYTES = 16 * 1024 * 1024

/** Returns the screens of a rollout, before each action and after the last. Empty if none were recorded. */
export function framesOf(log: LogReader, rollout: string, at: number): readonly Frame[] {
  const recorded = eventAt(log, `FramesRecorded/${rollout}`, at)
  if (recorded?.type !== 'FramesRecorded') return []
  return recorded.data.frames.map(({ sha256, bytes, width, height }) => ({ sha256, bytes, width, height }))
}

export type Picture = { readonly bytes: Uint8Array; readonly mediaType: string }

/**
 * Returns the file of a screen. Its type is what its first bytes say.
 * @param rollout the rollout whose event names the screen
 * @throws RlError `ui.no-frame` if the event names no such screen or the file is no picture; those of blobs
 */
export function pictureOf({ log }: OpenRun, rollout: string, sha256: string, at: number): Picture {
  const frame = framesOf(log, rollout, at).find((one) => one.sha256 === sha256)
  if (frame === undefined)
    throw noFrame(`rollout '${rollout.slice(0, 100)}' has no screen '${sha256.slice(0, 64)}'`)
  if (frame.bytes > MOST_BYTES) throw noFrame(`the screen has ${frame.bytes} bytes, more than ${MOST_BYTES}`)
  const bytes = log.blobs.get({ sha256, bytes: frame.bytes })
  const mediaType = mediaTypeOf(bytes)
  if (mediaType === null) throw noFrame(`the blob ${sha256} is no picture`)
  return { bytes, mediaType }
}

function noFrame(message: string): RlError {
  return new RlError(message, {
    code: 'ui.no-frame',
    hint: 'FramesRecorded of the rollout names its screens',
  })
}

const BEGINNINGS: readonly (readonly [type: string, at: number, beginning: string])[] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/webp', 8, 'WEBP'],
]

function mediaTypeOf(bytes: Uint8Array): string | null {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(16, bytes.byteLength)).toString('latin1')
  const found = BEGINNINGS.find(([, at, beginning]) => start.slice(at).startsWith(beginning))
  return found?.[0] ?? null
}
