/** Values under keys, kept by the broker: the last value of each key. */
export type KeyedStore = {
  /** Makes the store if it is missing. A store with other settings stays as it is. Errors: `bus.no-jetstream`, and those of the bus. */
  readonly ensure: () => Promise<void>
  /** Returns null if the key has no value, or if there is no store. Errors: `bus.no-jetstream`, and those of the bus. */
  readonly get: (key: string) => Promise<StoredValue | null>
  /**
   * Writes if the key still has this revision, which is 0 for a key without a value. Errors: those of the bus, also if the revision
   * is another one. A write whose answer was lost may have happened: `get` tells.
   */
  readonly update: (key: string, value: Uint8Array, revision: number) => Promise<void>
  /** Writes without waiting for an answer. Nobody hears of a write that failed. */
  readonly put: (key: string, value: Uint8Array) => void
}

export type StoredValue = {
  readonly value: Uint8Array
  /** Number of the write in its store, from 1. A store that was made anew counts from 1 again. */
  readonly revision: number
}

export type KeyedStoreOptions = {
  /** Letters, digits and dashes. */
  readonly name: string
  /** Subject that a key is written to; `*` stands for every key. Without it the store is a bucket as `nats kv` has them. */
  readonly subjectOf?: (key: string) => string
  /** The oldest values go if the store has more bytes than this. Without it they stay. */
  readonly maxBytes?: number
}
