/** Calls of each version that are not over. */
import type { EventData } from '../../events/catalogue.ts'

export type VersionsInUse = {
  /** Counts a call of a version until it is over. */
  readonly use: <T>(version: number, work: () => Promise<T>) => Promise<T>
  /** Whether a call that a version answers for is not over. */
  readonly isUsed: (version: number) => boolean
}

/** @param standIn returns the version that answers for another */
export function versionsInUse(standIn: (version: number) => number): VersionsInUse {
  const inUse = new Map<number, number>()
  return {
    async use(version, work) {
      inUse.set(version, (inUse.get(version) ?? 0) + 1)
      try {
        return await work()
      } finally {
        inUse.set(version, inUse.get(version)! - 1)
      }
    },
    isUsed: (version) => [...inUse].some(([asked, calls]) => calls > 0 && standIn(asked) === version),
  }
}

/**
 * Returns the version that answers for another: itself, or the newest before it that a server took. It is 0 if there is
 * none.
 */
export function standInOf(
  published: Iterable<Pick<EventData<'PolicyPublished'>, 'version' | 'serving'>>,
  version: number,
): number {
  const taken = [...published].filter((one) => one.serving === one.version && one.version <= version)
  return Math.max(0, ...taken.map((one) => one.version))
}
