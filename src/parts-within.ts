/**
 * Cuts a list into consecutive parts of at most this size. A single larger item is a part of its own.
 *
 * @param sizeOf returns the size of an item, in the unit of `most`
 * @example partsWithin([2, 2, 3, 9], (size) => size, 4) // [[2, 2], [3], [9]]
 */
export function partsWithin<T>(items: readonly T[], sizeOf: (item: T) => number, most: number): T[][] {
  const parts: T[][] = []
  let part: T[] = []
  let left = 0
  for (const item of items) {
    const size = sizeOf(item)
    if (parts.length === 0 || size > left) {
      part = []
      parts.push(part)
      left = most
    }
    part.push(item)
    left -= size
  }
  return parts
}
