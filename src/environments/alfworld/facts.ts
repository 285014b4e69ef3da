/** An object of a game as a number: its rank among all declared objects, in code point order of their ids. */
export type Entity = number

/**
 * The facts of one predicate, as sorted keys without duplicates. A key packs the arguments, first argument
 * first. So the order of keys is the order of the arguments' ids. Relations never change in place: states
 * share them.
 */
export type Relation = readonly number[]

/**
 * All facts of a state. With P predicates, entry p holds the facts of predicate p, and entry P + p the marks
 * `not_p`. A mark is a fact that an effect deleted and none has added again. The grammar's queries can see
 * marks.
 */
export type Facts = readonly Relation[]

/** Packs arguments into keys. Entities are below 2^bits. Predicates have at most two arguments. */
export type Packing = { readonly bits: number; readonly mask: number }

export function packingFor(entities: number): Packing {
  const bits = Math.max(1, Math.ceil(Math.log2(Math.max(2, entities))))
  return { bits, mask: 2 ** bits - 1 }
}

/** Returns the position of the first key that is not below `key`. */
export function lowerBound(relation: Relation, key: number): number {
  let low = 0
  let high = relation.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (relation[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}

export function hasKey(relation: Relation, key: number): boolean {
  return relation[lowerBound(relation, key)] === key
}

/** Returns the relation with the key. If the key is in it already, returns the relation itself. */
export function withKey(relation: Relation, key: number): Relation {
  const at = lowerBound(relation, key)
  if (relation[at] === key) return relation
  const next = relation.slice()
  ;(next as number[]).splice(at, 0, key)
  return next
}

/** Returns the relation without the key. If the key is not in it, returns the relation itself. */
export function withoutKey(relation: Relation, key: number): Relation {
  const at = lowerBound(relation, key)
  if (relation[at] !== key) return relation
  const next = relation.slice()
  ;(next as number[]).splice(at, 1)
  return next
}

/** Makes a relation from keys in any order. Duplicates are allowed. */
export function relationOf(keys: readonly number[]): Relation {
  const sorted = Array.from(new Set(keys))
  return sorted.sort((a, b) => a - b)
}
