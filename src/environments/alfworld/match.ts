import { itemAt } from '../../item-at.ts'
import { budget, exhausted } from './budget.ts'
import { type Entity, type Facts, lowerBound, type Packing, type Relation } from './facts.ts'
import { isVariable, type Parameter, type Term } from './formula.ts'
import type { Conjunction, Literal } from './normal-form.ts'

/** Facts about a game that matching needs. */
export type Tables = {
  readonly packing: Packing
  /** Id of each entity, in code point order. */
  readonly ids: readonly string[]
  /** Type of each entity. */
  readonly types: readonly string[]
  readonly entities: ReadonlyMap<string, Entity>
  /** Number of each predicate. */
  readonly predicates: ReadonlyMap<string, number>
  /** The facts at the start: they decide in which order a conjunction is joined. */
  readonly init: Facts
}

/** Values of the variables, by slot. */
export type Binding = Entity[]

/** Visits the solutions until `found` returns true. Returns whether it was stopped so. */
export type Search = (facts: Facts, binding: Binding) => boolean
export type Found = (binding: Binding, facts: Facts) => boolean

/**
 * Source of a term's value: a variable's slot, or a fixed entity (-1 if the game does not have the object).
 */
type Source = { readonly slot: number; readonly fixed: Entity }

/**
 * Compiles a conjunction into a nested-loop join over the facts. Parts whose values are all known are tested
 * first. Then the part with the fewest expected facts is enumerated (greedy).
 * @param given variables whose values are already in the binding, by slot from 0
 * @param free variables to be found, in the slots after those
 */
export function compileSearch(
  tables: Tables,
  conjunction: Conjunction,
  given: readonly Parameter[],
  free: readonly Parameter[],
  found: Found,
): Search {
  const variables = [...given, ...free, ...conjunction.variables]
  const slots = new Map(variables.map(({ name }, slot) => [name, slot]))
  const source = (term: Term): Source => {
    if (isVariable(term)) return { slot: slots.get(term) ?? -1, fixed: -1 }
    return { slot: -1, fixed: tables.entities.get(term) ?? -1 }
  }
  const pending = conjunction.literals.map((literal) => ({ literal, args: literal.test.args.map(source) }))
  const known = new Set(given.map((_, slot) => slot))
  const isKnown = ({ slot }: Source) => slot < 0 || known.has(slot)
  const steps: ((next: Search) => Search)[] = []
  const bind = (slot: number) => {
    known.add(slot)
    return itemAt(variables, slot).type
  }
  while (pending.length || known.size < variables.length) {
    const ready = pending.findIndex(({ args }) => args.every(isKnown))
    if (ready >= 0) {
      for (const { literal, args } of pending.splice(ready, 1))
        steps.push((next) => testStep(tables, literal, args, next))
      continue
    }
    let best = -1
    let least = Number.POSITIVE_INFINITY
    pending.forEach(({ literal, args }, i) => {
      const cost = expectedFacts(tables, literal, args, isKnown)
      if (cost < least) {
        best = i
        least = cost
      }
    })
    const slot = variables.findIndex((_, i) => !known.has(i))
    if (best >= 0)
      for (const { literal, args } of pending.splice(best, 1)) {
        const knownArgs = args.map(isKnown)
        const types = args.map((arg, i) => (knownArgs[i] ? null : bind(arg.slot)))
        steps.push((next) => factStep(tables, literal, args, knownArgs, types, next))
      }
    else {
      const type = bind(slot)
      steps.push((next) => domainStep(tables, slot, type, next))
    }
  }
  return steps.reduceRight<Search>(
    (next, step) => step(next),
    (facts, binding) => found(binding, facts),
  )
}

/**
 * Expected number of facts of an enumeration of a positive literal. Infinite if the literal cannot be
 * enumerated.
 */
function expectedFacts(
  tables: Tables,
  { positive, test }: Literal,
  args: readonly Source[],
  isKnown: (source: Source) => boolean,
): number {
  if (!positive || test.op !== 'atom') return Number.POSITIVE_INFINITY
  const relation = tables.init[tables.predicates.get(test.predicate) ?? -1] ?? []
  const position = args.findIndex(isKnown)
  return 1 + (position < 0 ? relation.length : relation.length / distinct(tables.packing, relation, position))
}

const counts = new WeakMap<Relation, [number?, number?]>()

/** Number of different values of the first or second argument in the facts, at least 1. */
function distinct({ bits, mask }: Packing, relation: Relation, position: number): number {
  const known = counts.get(relation) ?? []
  counts.set(relation, known)
  known[position] ??= new Set(relation.map((key) => (position === 0 ? key >>> bits : key & mask))).size || 1
  return known[position]
}

function testStep(
  tables: Tables,
  { positive, test }: Literal,
  args: readonly Source[],
  next: Search,
): Search {
  const values = args.map(
    ({ slot, fixed }) =>
      (binding: Binding) =>
        slot < 0 ? fixed : binding[slot]!,
  )
  if (test.op === 'equal') {
    const [left, right] = [itemAt(values, 0), itemAt(values, 1)]
    return (facts, binding) => (left(binding) === right(binding)) === positive && next(facts, binding)
  }
  const [a, b] = values
  const predicate = tables.predicates.get(test.predicate) ?? -1
  const { bits } = tables.packing
  const known = args.every(({ slot, fixed }) => slot >= 0 || fixed >= 0)
  if (!known) return positive ? () => false : next
  return (facts, binding) => {
    const relation = facts[predicate]!
    const key = a === undefined ? 0 : b === undefined ? a(binding) : (a(binding) << bits) | b(binding)
    return (relation[lowerBound(relation, key)] === key) === positive && next(facts, binding)
  }
}

/** Runs through the facts of a positive literal that fit the known arguments, and binds the others. */
function factStep(
  tables: Tables,
  { test }: Literal,
  args: readonly Source[],
  known: readonly boolean[],
  types: readonly (string | null)[],
  next: Search,
): Search {
  const predicate = test.op === 'atom' ? (tables.predicates.get(test.predicate) ?? -1) : -1
  const { bits, mask } = tables.packing
  if (args.some(({ slot, fixed }) => slot < 0 && fixed < 0)) return () => false
  const fits = types.map((type) => typeTest(tables, type))
  const [first, second] = [itemAt(args, 0), args[1]]
  const fitsFirst = itemAt(fits, 0)
  if (second === undefined)
    return (facts, binding) => {
      for (const key of facts[predicate]!) {
        if (--budget.left < 0) exhausted()
        if (!fitsFirst(key)) continue
        binding[first.slot] = key
        if (next(facts, binding)) return true
      }
      return false
    }
  const fitsSecond = itemAt(fits, 1)
  if (known[0])
    return (facts, binding) => {
      const relation = facts[predicate]!
      const prefix = first.slot < 0 ? first.fixed : binding[first.slot]!
      for (let i = lowerBound(relation, prefix << bits); i < relation.length; i++) {
        const key = relation[i]!
        if (key >>> bits !== prefix) break
        if (--budget.left < 0) exhausted()
        const value = key & mask
        if (!fitsSecond(value)) continue
        binding[second.slot] = value
        if (next(facts, binding)) return true
      }
      return false
    }
  const same = first.slot === second.slot
  return (facts, binding) => {
    const wanted = known[1] ? (second.slot < 0 ? second.fixed : binding[second.slot]!) : -1
    for (const key of facts[predicate]!) {
      if (--budget.left < 0) exhausted()
      const value = key & mask
      const head = key >>> bits
      if (wanted >= 0 ? value !== wanted : same ? value !== head : !fitsSecond(value)) continue
      if (!fitsFirst(head)) continue
      binding[first.slot] = head
      if (wanted < 0) binding[second.slot] = value
      if (next(facts, binding)) return true
    }
    return false
  }
}

/** Runs through all objects of a type, for a variable that no fact binds. */
function domainStep(tables: Tables, slot: number, type: string, next: Search): Search {
  const fits = typeTest(tables, type)
  const values = tables.ids.map((_, entity) => entity).filter(fits)
  return (facts, binding) => {
    for (const value of values) {
      if (--budget.left < 0) exhausted()
      binding[slot] = value
      if (next(facts, binding)) return true
    }
    return false
  }
}

/** Returns a test of an entity's type. Everything is an `object`. Null accepts all. */
function typeTest({ types }: Tables, type: string | null): (entity: Entity) => boolean {
  return type === null || type === 'object' ? () => true : (entity) => types[entity] === type
}
