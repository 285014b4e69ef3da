import { rng, type Seed } from '../../random.ts'

/**
 * Returns the players' names, e.g. `cabinet 6`, for the entities of a game. The numbers of a kind go from its
 * count down to 1, in the order of the ids. An id without `_bar_` is kept, with a space after it, as in
 * ALFWorld.
 * @param ids every argument of every initial fact, in code point order
 * @param shuffle seed of a random order of the numbers (ALFWorld's `domain_randomization`)
 */
export function demangle(ids: readonly string[], shuffle?: Seed): Map<string, string> {
  const objects = ids.map((id) => ({ id, base: baseName(id) }))
  const left = new Map<string, number>()
  for (const { base } of objects) if (base !== null) left.set(base, (left.get(base) ?? 0) + 1)
  const names = new Map<string, string>()
  for (const { id, base } of shuffle ? rng(shuffle).shuffle(objects) : objects) {
    if (base === null) {
      names.set(id, `${id} `)
      continue
    }
    const number = left.get(base) ?? 0
    left.set(base, number - 1)
    names.set(id, `${base} ${number}`)
  }
  return names
}

/** `cabinet` for `cabinet_bar__minus_01_…`, `sinkbasin` for a sink's basin, null for ids of another form. */
function baseName(id: string): string | null {
  const end = id.indexOf('_bar_')
  if (end < 0) return null
  return id.slice(0, end) + (id.includes('basin') ? 'basin' : '')
}
