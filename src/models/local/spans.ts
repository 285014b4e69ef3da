/**
 * Lists the first row of each packed sequence, and the row behind its last: sequence s has the rows offsets[s] .. offsets[s + 1].
 *
 * @example spans(Int32Array.of(0, 2, 5)) // [[0, 2], [2, 5]]
 */
export function spans(offsets: Int32Array): (readonly [first: number, end: number])[] {
  return Array.from({ length: offsets.length - 1 }, (_, s) => [offsets[s]!, offsets[s + 1]!])
}
