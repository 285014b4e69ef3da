/** An object of a game as a number: its rank among all declared objects in code point order of their ids. */
export type Entity = number

/**
 * The facts of one predicate, as sorted keys without duplicates. A key packs the arguments, so the order of keys is the order of the
 * arguments' ids: first argument first. Relations are never changed in place: states share them.
 */
export type Relation = readonly number[]

/**
 * All facts of a state. With P predicates, entry p holds the facts of predicate p and entry P + p the marks `not_p`:
 * the facts that an effect has deleted and none has added again since, which the grammar's queries can see.
 */
export type Facts = readonly Relation[]

/** Packs arguments into keys; entities are below 2^bits, predicates have at most two arguments. */
export type Packing = { readonly bits: number; readonly mask: number }

export function packingFor(entities: number): Packing {
  const bits = Math.max(1, Math.ceil(Math.log2(Math.max(2, entities))))
  return { bits, mask: 2 ** bits - 1 }
}

/** The position of the first key that is not below `key`. */
export function lowerBound(relation: Relation, key: number): number {
  let low = 0
  let high = relation.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (relation[middle] < key) low = middle + 1
    else high = middle
  }
  return low
}

export const has = (relation: Relation, key: number) => relation[lowerBound(relation, key)] === key

/** The relation with the key; itself where it has it already. */
export function withKey(relation: Relation, key: number): Relation {
  const at = lowerBound(relation, key)
  if (relation[at] === key) return relation
  const next = relation.slice()
  ;(next as number[]).splice(at, 0, key)
  return next
}

/** The relation without the key; itself where it does not have it. */
export function withoutKey(relation: Relation, key: number): Relation {
  const at = lowerBound(relation, key)
  if (relation[at] !== key) return relation
  const next = relation.slice()
  ;(next as number[]).splice(at, 1)
  return next
}

/** A relation from keys in any order, duplicates allowed. */
export function relationOf(keys: readonly number[]): Relation {
  const sorted = Array.from(new Set(keys))
  return sorted.sort((a, b) => a - b)
}
