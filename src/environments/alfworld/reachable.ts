/**
 * Facts that can become true at all, by the measure of Fast Downward: as if no action deleted anything, and no condition
 * denied anything. It has no negated atoms of the other facts, so texts never see `not_p` for them.
 */
import { keyOf } from './actions.ts'
import { budget } from './budget.ts'
import type { ActionSchema, Effect } from './domain.ts'
import { type Facts, relationOf } from './facts.ts'
import type { Formula, Parameter } from './formula.ts'
import { type Binding, compileSearch, type Search, type Tables } from './match.ts'
import { type Conjunction, normalForm } from './normal-form.ts'

/** Returns the facts of each predicate that the actions can ever reach from the start. */
export function reachableFacts(tables: Tables, actions: readonly ActionSchema[]): Facts {
  const reached = tables.init.slice(0, tables.predicates.size).map((relation) => new Set(relation))
  const searches = actions.flatMap((action) => searchesOf(tables, action, reached))
  const sizeOf = () => reached.reduce((sum, keys) => sum + keys.size, 0)
  for (let before = -1; before < sizeOf(); ) {
    before = sizeOf()
    const facts = [...reached.map((keys) => relationOf([...keys])), ...reached.map(() => [])]
    for (const search of searches) {
      budget.start()
      search(facts, [])
    }
  }
  budget.start()
  return reached.map((keys) => relationOf([...keys]))
}

/** Searches for instances of an action. Each instance adds what it adds to the reached facts. */
function searchesOf(
  tables: Tables,
  { name, parameters, precondition, effects }: ActionSchema,
  reached: readonly Set<number>[],
): Search[] {
  const place = `action '${name}'`
  const adds = effects.filter(({ add }) => add).map((effect) => addition(tables, effect, parameters, place))
  return normalForm(precondition, place).map((conjunction) =>
    compileSearch(tables, relaxed(conjunction), [], parameters, (binding, facts) => {
      for (const { predicate, key, holds } of adds)
        if (holds(facts, binding)) reached[predicate]?.add(key(binding))
      return false
    }),
  )
}

function addition(tables: Tables, { atom, when }: Effect, parameters: readonly Parameter[], place: string) {
  return {
    predicate: tables.predicates.get(atom.predicate) ?? -1,
    key: keyOf(tables, atom, parameters),
    holds: when ? relaxedTest(tables, when, parameters, place) : () => true,
  }
}

function relaxedTest(
  tables: Tables,
  formula: Formula,
  given: readonly Parameter[],
  place: string,
): (facts: Facts, binding: Binding) => boolean {
  const searches = normalForm(formula, place).map((conjunction) =>
    compileSearch(tables, relaxed(conjunction), given, [], () => true),
  )
  return (facts, binding) => searches.some((search) => search(facts, [...binding]))
}

const relaxed = ({ variables, literals }: Conjunction): Conjunction => ({
  variables,
  literals: literals.filter(({ positive }) => positive),
})
