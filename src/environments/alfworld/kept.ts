import type { Facts, Relation } from './facts.ts'

/** A value, and the relations under which it was worked out. */
type Known<Value> = { readonly relations: readonly Relation[]; readonly value: Value }

/** Most keys that are kept of one function. */
const MAX_KEYS = 4_096

/**
 * Keeps values that follow from a key and from some relations of the facts. Two are kept for each key: the first one, which is mostly
 * that of the start and comes again in each episode, and the last one.
 * @param varying the relations that can change, as indexes into Facts
 */
export function keeper<Value>(
  varying: readonly number[],
): (key: number, facts: Facts, workOut: () => Value) => Value {
  const kept = new Map<number, { readonly first: Known<Value>; last: Known<Value> }>()

  function holds({ relations }: Known<Value>, facts: Facts): boolean {
    for (let i = 0; i < varying.length; i++) if (!isSame(relations[i]!, facts[varying[i]!]!)) return false
    return true
  }

  return (key, facts, workOut) => {
    const known = kept.get(key)
    if (known !== undefined && holds(known.last, facts)) return known.last.value
    if (known !== undefined && holds(known.first, facts)) return known.first.value
    const found = { relations: varying.map((index) => facts[index]!), value: workOut() }
    if (known !== undefined) known.last = found
    else if (kept.size < MAX_KEYS) kept.set(key, { first: found, last: found })
    return found.value
  }
}

/** Whether two relations are known to be the same. Long ones are compared by identity: an unchanged one is shared. */
function isSame(a: Relation, b: Relation): boolean {
  return a === b || (a.length === b.length && a.length < 2 && a[0] === b[0])
}
