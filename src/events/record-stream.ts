/** A stream of records that several brokers keep: the log of a run whose head may end with its machine. */

/** Records have the numbers 1, 2, 3, ... and never change. */
export type RecordStream = {
  /** Makes the stream if it is missing. Errors: those of the bus. */
  readonly ensure: () => Promise<void>
  /** Returns the number of the newest record, 0 if there is none. Errors: those of the bus. */
  readonly last: () => Promise<number>
  /**
   * Appends a record if the newest one has the number `after`. A repeat whose first try was kept, but never answered, counts as kept.
   *
   * @throws RlError `record.taken` if another record stands there, and those of the bus
   */
  readonly append: (body: Uint8Array, after: number) => Promise<void>
  /** Returns a record, or null if there is none with this number. Errors: those of the bus. */
  readonly read: (number: number) => Promise<Uint8Array | null>
  /** Calls back soon after a record was appended. Some calls may be missed. Returns a function that ends it. */
  readonly onAppended: (callback: () => void) => () => void
}

export type RecordStreamOptions = {
  /** Letters, digits and dashes. */
  readonly name: string
  readonly subject: string
}
