/**
 * The mark that a run is over, kept on its broker. The head says so while it ends, and ends for good. A process that was cut off
 * at that time finds the mark.
 */
import type { Bus } from '../../events/bus.ts'
import type { StoredValue } from '../../events/keyed-store.ts'

export type OverMark = {
  /** @param epoch of the head that says so */
  readonly set: (epoch: number) => Promise<void>
  /** Whether a head of this epoch or a later one said so. An older mark is that of an earlier run with this name. */
  readonly isSet: (epoch: number) => Promise<boolean>
}

const KEY = 'over'

/** The bucket that also holds the head's record. */
export const fenceBucket = (run: string) => `rl-${run}-fence`

export function overMark(bus: Pick<Bus, 'store'>, run: string): OverMark {
  const store = bus.store({ name: fenceBucket(run) })
  return {
    async set(epoch) {
      const before = await store.get(KEY)
      if (before !== null && epochOf(before) > epoch) return
      await store.update(KEY, Buffer.from(String(epoch)), before?.revision ?? 0)
    },
    async isSet(epoch) {
      const found = await store.get(KEY)
      return found !== null && epochOf(found) >= epoch
    },
  }
}

const epochOf = ({ value }: StoredValue) => Number(Buffer.from(value).toString())
