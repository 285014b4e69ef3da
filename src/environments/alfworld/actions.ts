import { RlError } from '../../errors.ts'
import type { ActionSchema, Effect } from './domain.ts'
import { type Entity, type Facts, type Relation, withKey, withoutKey } from './facts.ts'
import { type Atom, type Formula, isVariable, type Parameter } from './formula.ts'
import { type Binding, compileSearch, type Found, type Tables } from './match.ts'
import { type Conjunction, normalForm } from './normal-form.ts'

/** An action schema prepared for one game. Arguments are the declared parameters' values, in order. */
export type Operator = {
  readonly schema: ActionSchema
  /** Predicates whose facts decide which instances are applicable. */
  readonly reads: ReadonlySet<number>
  /** Returns all instances whose precondition holds and that change something, each once. */
  readonly instances: (facts: Facts) => readonly (readonly Entity[])[]
  /**
   * Returns the facts after the action. Conditions are tested before any change. Deletes come before adds.
   */
  readonly apply: (facts: Facts, args: readonly Entity[]) => Facts
}

/** More applicable instances of one action than this are refused. */
const MAX_INSTANCES = 50_000

/**
 * Whether a fact that is deleted leaves a mark if it was not true.
 * @param predicate its number
 */
export type CanHold = (predicate: number, key: number) => boolean

/** @param canHold asked for deletes of facts that are not true */
export function compileOperator(tables: Tables, schema: ActionSchema, canHold: CanHold): Operator {
  const conjunctions = normalForm(schema.precondition, placeOf(schema))
  const collect = collector(schema, tables.ids.length)
  const searches = conjunctions.map((conjunction) => {
    const variables = [...schema.parameters, ...conjunction.variables]
    // One search without further variables finds each instance once.
    const mayRepeat = conjunctions.length > 1 || conjunction.variables.length > 0
    const remains = somethingRemains(tables, schema.effects, conjunction, variables)
    const found: Found = (binding) => {
      if (remains(binding)) collect.add(binding, mayRepeat)
      return false
    }
    return compileSearch(tables, conjunction, [], schema.parameters, found)
  })
  return {
    schema,
    reads: predicatesOf(tables, conjunctions),
    instances: (facts) => {
      collect.start()
      for (const search of searches) search(facts, [])
      return collect.tuples()
    },
    apply: compileEffects(tables, schema, canHold),
  }
}

/** The predicates that a condition looks at. */
function predicatesOf(tables: Tables, conjunctions: readonly Conjunction[]): Set<number> {
  const found = new Set<number>()
  for (const { literals } of conjunctions)
    for (const { test } of literals)
      if (test.op === 'atom') found.add(tables.predicates.get(test.predicate) ?? -1)
  return found
}

/**
 * Compiles a condition into a test of facts, given the values of its parameters. @param place name for
 * messages
 */
export function compileTest(
  tables: Tables,
  formula: Formula,
  given: readonly Parameter[],
  place: string,
): (facts: Facts, binding: Binding) => boolean {
  const searches = normalForm(formula, place).map((c) => compileSearch(tables, c, given, [], () => true))
  return (facts, binding) => searches.some((search) => search(facts, binding))
}

/** Gathers instances. Each comes once, even if several alternatives or `exists` values lead to it. */
function collector({ name, parameters }: ActionSchema, radix: number) {
  let tuples: Entity[][] = []
  let seen = new Set<number | string>()
  const packs = radix ** parameters.length < Number.MAX_SAFE_INTEGER
  return {
    start(): void {
      tuples = []
      seen = new Set()
    },
    tuples: () => tuples,
    add(binding: Binding, mayRepeat: boolean): void {
      const tuple = binding.slice(0, parameters.length)
      if (mayRepeat) {
        const key = packs ? tuple.reduce((packed, value) => packed * radix + value, 0) : tuple.join()
        if (seen.has(key)) return
        seen.add(key)
      }
      if (tuples.push(tuple) > MAX_INSTANCES)
        throw new RlError(`action '${name}' has more than ${MAX_INSTANCES} applicable instances`, {
          code: 'alfworld.too-large',
          hint: 'restrict its parameters in its precondition',
        })
    },
  }
}

/**
 * Fast Downward's rule for no-ops. A delete of an atom that is also added is void. An effect that the
 * precondition already requires is dropped. The action counts only if something remains. A conditional effect
 * always remains.
 */
function somethingRemains(
  tables: Tables,
  effects: readonly Effect[],
  { literals }: Conjunction,
  variables: readonly Parameter[],
): (binding: Binding) => boolean {
  const required = (effect: Effect) =>
    literals.flatMap(({ positive, test }) =>
      positive === effect.add && test.op === 'atom' && test.predicate === effect.atom.predicate ? [test] : [],
    )
  const always = effects.some(
    (effect) => effect.when !== null || (effect.add && required(effect).length === 0),
  )
  if (always) return () => true
  const added = effects.filter(({ add }) => add).map(({ atom }) => atom)
  const candidates = effects.map((effect) => {
    const voided = effect.add ? [] : added.filter(({ predicate }) => predicate === effect.atom.predicate)
    return {
      key: keyOf(tables, effect.atom, variables),
      droppedBy: [...required(effect), ...voided].map((atom) => keyOf(tables, atom, variables)),
    }
  })
  return (binding) =>
    candidates.some(({ key, droppedBy }) => !droppedBy.some((other) => other(binding) === key(binding)))
}

/** Returns the key of an atom for given values of the variables. */
export function keyOf(
  tables: Tables,
  { args }: Atom,
  variables: readonly Parameter[],
): (binding: readonly Entity[]) => number {
  const [a, b] = args.map((term) => {
    const slot = variables.findIndex(({ name }) => name === term)
    const fixed = isVariable(term) ? -1 : (tables.entities.get(term) ?? -1)
    return slot < 0 ? () => fixed : (binding: readonly Entity[]) => binding[slot]!
  })
  const { bits } = tables.packing
  if (a === undefined) return () => 0
  if (b === undefined) return a
  return (binding) => (a(binding) << bits) | b(binding)
}

const placeOf = ({ name, line }: ActionSchema) => `pddl_domain, line ${line}, action '${name}'`

function compileEffects(tables: Tables, schema: ActionSchema, canHold: CanHold): Operator['apply'] {
  const { parameters, effects } = schema
  for (const { atom } of effects)
    for (const term of atom.args)
      if (!isVariable(term) && !tables.entities.has(term))
        throw new RlError(`${placeOf(schema)}: it changes the unknown object '${term}'`, {
          code: 'alfworld.pddl-syntax',
          hint: 'declare it in the objects of the problem',
        })
  const changes = effects.map(({ add, atom, when }) => ({
    add,
    predicate: tables.predicates.get(atom.predicate) ?? -1,
    key: keyOf(tables, atom, parameters),
    when: when && compileTest(tables, when, parameters, placeOf(schema)),
  }))
  const deletes = changes.filter(({ add }) => !add)
  const adds = changes.filter(({ add }) => add)
  const marks = tables.predicates.size
  return (facts, args) => {
    const fires = ({ when }: (typeof changes)[number]) => when === null || when(facts, [...args])
    const next = facts.slice() as Relation[]
    for (const change of deletes) {
      if (!fires(change)) continue
      const key = change.key(args)
      const left = withoutKey(next[change.predicate]!, key)
      const wasTrue = left !== next[change.predicate]
      next[change.predicate] = left
      if (wasTrue || canHold(change.predicate, key))
        next[marks + change.predicate] = withKey(next[marks + change.predicate]!, key)
    }
    for (const change of adds) {
      if (!fires(change)) continue
      const key = change.key(args)
      next[change.predicate] = withKey(next[change.predicate]!, key)
      const mark = marks + change.predicate
      next[mark] = withoutKey(next[mark]!, key)
    }
    return next
  }
}
