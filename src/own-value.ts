/**
 * Returns the value that a record has for a key itself. Keys of every object, e.g. `constructor`, are none.
 *
 * @example ownValue({ a: 1 }, 'constructor') // undefined
 */
export function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined
}
