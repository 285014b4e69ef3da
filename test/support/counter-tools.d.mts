/** Returns a counter: a function from a message of JSON-RPC to its answer, or to null if it gets none. */
export function createCounter(
  version?: string,
): (message: {
  readonly id?: unknown
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}) => object | null
