/**
 * Results that the executors of a run share, by the digest of everything that they depend on. This is a cache: missing
 * results are computed again.
 */
import type { Kept } from '../../environments/setting.ts'
import type { Bus } from '../../events/bus.ts'
import type { KeyedStore } from '../../events/keyed-store.ts'
import type { LogClient } from '../../events/log-client.ts'
import { subjectsOf } from '../../events/subjects.ts'

/** The oldest go when there are more. */
const MOST_BYTES = 256 << 20
/** Larger ones are not kept. */
const ITEM_BYTES = 256 << 10

function storeOf(bus: Bus, run: string): KeyedStore {
  return bus.store({ name: `rl-${run}-kept`, subjectOf: subjectsOf(run).kept, maxBytes: MOST_BYTES })
}

/** Made by the head, as all streams are. */
export async function makeKeptResults(bus: Bus, run: string): Promise<void> {
  await storeOf(bus, run).ensure()
}

export function openKeptResults({ bus, run }: LogClient): Kept {
  const store = storeOf(bus, run)
  return {
    async get(key) {
      const found = await store.get(key).catch(() => null)
      return found && found.value.byteLength > 0 ? found.value : null
    },
    set(key, bytes) {
      if (bytes.byteLength <= ITEM_BYTES) store.put(key, bytes)
    },
  }
}
