/** Puts large columns of trajectories into the run's store, and gets them back for those who train on them. */
import type { EventData } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { largeSegments, withReference, withSegments } from '../../events/stored-segments.ts'
import { createLimit } from '../../limit.ts'
import { inStore, storeOf } from '../learner/store.ts'

type Trajectory = EventData<'TrajectoryCompleted'>
type Stored = Required<Trajectory>['storedSegments']

/** Columns that are fetched at a time. Each has at most 32 MB. */
const AT_A_TIME = 8

/**
 * Puts the columns of a trajectory into the run's store if roles may lie on other hosts, the run has one, and the columns are too large
 * for an event. Errors: those of `inStore`.
 */
export async function storedTrajectory(log: LogClient, trajectory: Trajectory): Promise<Trajectory> {
  const bytes = log.apart ? largeSegments(trajectory.segments) : null
  const store = bytes === null ? undefined : await storeOf(log)
  if (bytes === null || store === undefined) return trajectory
  const ref = await inStore(log, store, (objects) => objects.putBlob(bytes))
  return withReference(trajectory, store, ref)
}

/** Resolves to the trajectories with their columns. Errors: those of `inStore`. */
export async function wholeTrajectories(
  log: LogClient,
  trajectories: readonly Trajectory[],
): Promise<readonly Trajectory[]> {
  const bytes = new Map<string, Uint8Array>()
  const stored = trajectories.flatMap(({ storedSegments }) => storedSegments ?? [])
  await eachStored(log, stored, async ({ sha256 }, content) => void bytes.set(sha256, content))
  return trajectories.map((one) => {
    const own = bytes.get(one.storedSegments?.sha256 ?? '')
    return own === undefined ? one : withSegments(one, own)
  })
}

/** Fetches columns, several at a time, and does something with each. Errors: those of `inStore`. */
export async function eachStored(
  log: Pick<LogClient, 'putBlob' | 'getBlob'>,
  stored: readonly Stored[],
  work: (ref: Stored, content: Uint8Array) => Promise<void>,
): Promise<void> {
  const limited = createLimit(AT_A_TIME)
  for (const store of new Set(stored.map((ref) => ref.store))) {
    const refs = stored.filter((ref) => ref.store === store)
    await inStore(log, store, (objects) =>
      Promise.all(refs.map((ref) => limited(undefined, async () => work(ref, await objects.getBlob(ref))))),
    )
  }
}
