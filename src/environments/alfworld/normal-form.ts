import { RlError } from '../../errors.ts'
import { type Atom, type Equality, type Formula, isVariable, type Parameter, type Term } from './formula.ts'

export type Literal = { readonly positive: boolean; readonly test: Atom | Equality }
/** Literals that must hold together, for some values of the variables. */
export type Conjunction = { readonly variables: readonly Parameter[]; readonly literals: readonly Literal[] }

/** Larger conditions are refused. ALFRED's have up to 3 alternatives and 20 literals. */
const MAX_ALTERNATIVES = 512
const MAX_LITERALS = 1_000
const MAX_VARIABLES = 100

/** Domains are shared by many games, so their conditions are worked out once. */
const known = new WeakMap<Formula, readonly Conjunction[]>()

/**
 * Returns the disjunctive normal form: the formula holds if one of the conjunctions holds. Variables of
 * `exists` move outwards under fresh names, so none hides another.
 * @param place the place of the formula, for messages
 */
export function normalForm(formula: Formula, place: string): readonly Conjunction[] {
  let conjunctions = known.get(formula)
  if (!conjunctions) {
    conjunctions = multipliedOut(formula, place)
    known.set(formula, conjunctions)
  }
  return conjunctions
}

function multipliedOut(formula: Formula, place: string): Conjunction[] {
  let fresh = 0
  const tooLarge = (limit: number, what: string) =>
    new RlError(`${place}: a condition has more than ${limit} ${what}`, {
      code: 'alfworld.too-large',
      hint: 'the game is not from ALFWorld, or is damaged',
    })
  const both = (a: Conjunction, b: Conjunction): Conjunction => {
    if (a.literals.length + b.literals.length > MAX_LITERALS) throw tooLarge(MAX_LITERALS, 'literals')
    if (a.variables.length + b.variables.length > MAX_VARIABLES) throw tooLarge(MAX_VARIABLES, 'variables')
    return { variables: [...a.variables, ...b.variables], literals: [...a.literals, ...b.literals] }
  }
  const bounded = (conjunctions: Conjunction[]) => {
    if (conjunctions.length <= MAX_ALTERNATIVES) return conjunctions
    throw tooLarge(MAX_ALTERNATIVES, "alternatives when its 'or' are multiplied out")
  }
  const expand = (part: Formula, names: ReadonlyMap<Term, Term>): Conjunction[] => {
    switch (part.op) {
      case 'atom':
      case 'equal':
        return [{ variables: [], literals: [{ positive: true, test: rename(part, names) }] }]
      case 'not':
        return [{ variables: [], literals: [{ positive: false, test: rename(part.part, names) }] }]
      case 'or':
        return bounded(part.parts.flatMap((alternative) => expand(alternative, names)))
      case 'and':
        return part.parts.reduce<Conjunction[]>(
          (left, next) => {
            const right = expand(next, names)
            if (left.length * right.length > MAX_ALTERNATIVES)
              throw tooLarge(MAX_ALTERNATIVES, "alternatives when its 'or' are multiplied out")
            return left.flatMap((a) => right.map((b) => both(a, b)))
          },
          [{ variables: [], literals: [] }],
        )
      case 'exists': {
        const inner = new Map(names)
        const variables = part.parameters.map(({ name, type }) => {
          const renamed = `${name}#${fresh++}`
          inner.set(name, renamed)
          return { name: renamed, type }
        })
        return expand(part.part, inner).map((conjunction) => both({ variables, literals: [] }, conjunction))
      }
    }
  }
  return expand(formula, new Map())
}

function rename<T extends Atom | Equality>(test: T, names: ReadonlyMap<Term, Term>): T {
  return { ...test, args: test.args.map((term) => (isVariable(term) ? (names.get(term) ?? term) : term)) }
}
