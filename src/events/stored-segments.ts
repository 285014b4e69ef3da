/**
 * Segments of trajectories that lie in a store of objects. Their worker puts them there, so the head takes a reference in place of
 * the columns: docs/decisions/1037. Whoever reads tokens or log-probs takes the segments from here.
 */
import { z } from 'zod'
import { RlError } from '../errors.ts'
import { segment } from './catalogue/experience.ts'
import type { EventData } from './catalogue.ts'
import { type BlobRef, DATA_LIMIT, INLINE_DATA_LIMIT } from './codec.ts'
import type { LogReader } from './log-reader.ts'
import { type Bounds, pack, unpackUntrusted } from './msgpack.ts'
import { problemOf } from './shape.ts'

type Trajectory = EventData<'TrajectoryCompleted'>
type Segments = Trajectory['segments']

const segmentsSchema = z.array(segment)
const BOUNDS: Bounds = { bytes: DATA_LIMIT, values: 131_072 }

/** Returns the bytes of segments that are too large for an event, or null. */
export function largeSegments(segments: Segments): Uint8Array | null {
  const bytes = pack(segments)
  return bytes.byteLength > INLINE_DATA_LIMIT ? bytes : null
}

/** Returns a trajectory with a reference in place of its segments. */
export function withReference(trajectory: Trajectory, store: string, ref: BlobRef): Trajectory {
  const firstStep = trajectory.segments[0]?.firstStep ?? 0
  return { ...trajectory, segments: [], storedSegments: { store, ...ref, firstStep } }
}

/**
 * Returns a trajectory with the segments that its reference names. If the bytes are no segments, the trajectory stays as it is, and
 * nobody can train on it: its worker wrote them, and the head did not see them.
 */
export function withSegments(trajectory: Trajectory, bytes: Uint8Array): Trajectory {
  const segments = segmentsOf(bytes)
  if (segments === null) return trajectory
  const { storedSegments: _, ...rest } = trajectory
  return { ...rest, segments }
}

function segmentsOf(bytes: Uint8Array): Segments | null {
  try {
    const value = unpackUntrusted(bytes, BOUNDS)
    return problemOf(segmentsSchema, value) === null ? (value as Segments) : null
  } catch {
    return null
  }
}

/**
 * Returns a trajectory with its segments, for readers of a log on this disk.
 * @throws RlError `columns.elsewhere` if nobody fetched them
 */
export function wholeTrajectory(trajectory: Trajectory, { run, blobs }: LogReader): Trajectory {
  if (trajectory.storedSegments === undefined) return trajectory
  const { store, sha256, bytes } = trajectory.storedSegments
  if (blobs.has(sha256)) return withSegments(trajectory, blobs.get({ sha256, bytes }))
  throw new RlError(`the tokens of rollout ${trajectory.rollout} lie in ${store}`, {
    code: 'columns.elsewhere',
    hint: `rl log ${run} fetch brings those of the whole run to this disk`,
  })
}
