import { budget, exhausted } from './budget.ts'
import type { Domain } from './domain.ts'
import { type Entity, type Facts, lowerBound } from './facts.ts'
import type { Tables } from './match.ts'
import type { Conjunct, Query, QueryVariable } from './template.ts'

/**
 * Input of rendering. `values` holds the variables in scope by slot. The slots after them are scratch space.
 */
export type RenderContext = {
  readonly tables: Pick<Tables, 'ids' | 'types' | 'packing'>
  /** Name of each entity. */
  readonly names: readonly string[]
  /** The sentence that replaces the grammar's task rule. */
  readonly task: string
  readonly facts: Facts
  readonly values: Entity[]
}

/**
 * The variables in scope, by slot. A later variable hides an earlier one of the same name, in expressions
 * only.
 */
export type Scope = readonly QueryVariable[]

/** A query compiled for the variables in scope. */
export type CompiledQuery = {
  /** The variables in scope for the query's body: the given ones, then the new ones. */
  readonly scope: Scope
  /** Facts that it looks at, as indexes into Facts. */
  readonly reads: ReadonlySet<number>
  /** Variables given that the solutions depend on, as slots. */
  readonly uses: ReadonlySet<number>
  /**
   * Visits the solutions in the order of the facts, with the values in the context. Stops if `found` returns
   * true.
   */
  readonly search: (context: RenderContext, found: () => boolean) => boolean
}

/**
 * Queries are evaluated from left to right, each part over its facts in the order of their arguments' ids. Different variables have
 * different values, also different from all values in scope.
 */
export function compileQuery(query: Query, outer: Scope, predicates: Domain['predicates']): CompiledQuery {
  const scope = [...outer]
  const reads = new Set<number>()
  const uses = new Set<number>()
  let run: (next: Step) => Step = (next) => next
  for (const conjunct of query) {
    const index = factsIndex(conjunct, predicates)
    const known = scope.length
    const slots = conjunct.args.map(({ name, type }) => {
      const slot = scope.findIndex((variable) => variable.name === name && variable.type === type)
      return slot < 0 ? scope.push({ name, type }) - 1 : slot
    })
    if (index >= 0) reads.add(index)
    for (const slot of slots) if (slot < outer.length) uses.add(slot)
    const types = conjunct.args.map(({ type }) => type)
    const before = run
    run = (next) => before(conjunctStep(index, slots, types, known, next))
  }
  // A new variable must differ from every value in scope, so then all of them count.
  if (scope.length > outer.length) for (const slot of outer.keys()) uses.add(slot)
  const start = run((_, found) => found())
  return { scope, reads, uses, search: start }
}

type Step = (context: RenderContext, found: () => boolean) => boolean

/**
 * Returns the index of the facts of a conjunct: `p`, or the marks of `p` for `not_p`. Returns -1 if the
 * domain has no such predicate with this number of arguments. Then there are no solutions.
 */
function factsIndex({ predicate, args }: Conjunct, predicates: Domain['predicates']): number {
  const isMark = !predicates.has(predicate) && predicate.startsWith('not_')
  const name = isMark ? predicate.slice(4) : predicate
  if (predicates.get(name)?.types.length !== args.length) return -1
  const number = [...predicates.keys()].indexOf(name)
  return isMark ? predicates.size + number : number
}

function conjunctStep(
  index: number,
  slots: readonly number[],
  types: readonly string[],
  known: number,
  next: Step,
): Step {
  if (index < 0) return () => false
  const [a, b] = slots
  const isNew = (context: RenderContext, slot: number, position: number, value: Entity) => {
    const type = types[position]
    if (type !== 'object' && context.tables.types[value] !== type) return false
    for (let i = 0; i < slot; i++) if (context.values[i] === value) return false
    context.values[slot] = value
    return true
  }
  if (a === undefined) return (context, found) => context.facts[index]!.length > 0 && next(context, found)
  if (b === undefined)
    return (context, found) => {
      const relation = context.facts[index]!
      if (a < known) {
        const value = context.values[a]!
        return relation[lowerBound(relation, value)] === value && next(context, found)
      }
      for (const value of relation) {
        if (--budget.left < 0) exhausted()
        if (isNew(context, a, 0, value) && next(context, found)) return true
      }
      return false
    }
  return (context, found) => {
    const { values, tables } = context
    const { bits, mask } = tables.packing
    const relation = context.facts[index]!
    if (a < known && b < known) {
      const key = (values[a]! << bits) | values[b]!
      return relation[lowerBound(relation, key)] === key && next(context, found)
    }
    for (let i = a < known ? lowerBound(relation, values[a]! << bits) : 0; i < relation.length; i++) {
      if (--budget.left < 0) exhausted()
      const first = relation[i]! >>> bits
      const second = relation[i]! & mask
      if (a < known) {
        if (first !== values[a]) return false
      } else {
        if (b < known && second !== values[b]) continue
        if (!isNew(context, a, 0, first)) continue
      }
      if (b >= known && (b === a ? second !== first : !isNew(context, b, 1, second))) continue
      if (next(context, found)) return true
    }
    return false
  }
}
