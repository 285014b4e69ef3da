import { RlError } from '../../errors.ts'
import { type Atom, type Equality, type Formula, isVariable, type Parameter, type Term } from './formula.ts'

export type Literal = { readonly positive: boolean; readonly test: Atom | Equality }
/** Literals that must hold together, for some values of the variables. */
export type Conjunction = { readonly variables: readonly Parameter[]; readonly literals: readonly Literal[] }

/** A condition with more alternatives than this is refused. */
const MAX_ALTERNATIVES = 512

/**
 * The disjunctive normal form: the formula holds where one of the conjunctions does. Variables of `exists` move outwards under
 * fresh names, so that none hides another.
 */
export function normalForm(formula: Formula): Conjunction[] {
  let fresh = 0
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
            if (left.length * right.length > MAX_ALTERNATIVES) throw tooMany()
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
        return expand(part.part, inner).map((conjunction) => ({
          variables: [...variables, ...conjunction.variables],
          literals: conjunction.literals,
        }))
      }
    }
  }
  return expand(formula, new Map())
}

const both = (a: Conjunction, b: Conjunction): Conjunction => ({
  variables: [...a.variables, ...b.variables],
  literals: [...a.literals, ...b.literals],
})

function rename<T extends Atom | Equality>(test: T, names: ReadonlyMap<Term, Term>): T {
  return { ...test, args: test.args.map((term) => (isVariable(term) ? (names.get(term) ?? term) : term)) }
}

function bounded(conjunctions: Conjunction[]): Conjunction[] {
  if (conjunctions.length > MAX_ALTERNATIVES) throw tooMany()
  return conjunctions
}

const tooMany = () =>
  new RlError(`a condition has more than ${MAX_ALTERNATIVES} alternatives when its 'or' are multiplied out`, {
    code: 'alfworld.too-large',
    hint: 'write the condition with fewer nested (or …)',
  })
