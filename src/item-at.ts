/**
 * Returns the item at an index that must be in range.
 *
 * @throws RangeError if there is no such item
 * @example itemAt(['a', 'b'], 1) // 'b'
 */
export function itemAt<T>(items: ArrayLike<T>, index: number): T {
  const item = items[index]
  if (item === undefined) throw new RangeError(`there is no item ${index} of ${items.length}`)
  return item
}
