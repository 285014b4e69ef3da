import { type Domain, readDefinition } from './domain.ts'
import { type Atom, type Formula, parseAtom, parseFormula, parseTyped, type Scope } from './formula.ts'
import { construct, isWord, type List, syntaxError, unsupported } from './sexpr.ts'

export type Problem = {
  readonly name: string
  /** Type of every declared object. */
  readonly objects: ReadonlyMap<string, string>
  /** The facts that hold at the start, as the file lists them, duplicates included. */
  readonly init: readonly Atom[]
  readonly goal: Formula
}

const SOURCE = 'pddl_problem'
const MAX_OBJECTS = 16_384

/** Reads a problem of a domain. @throws RlError with the line and the construct, also for undeclared names. */
export function parseProblem(text: string, domain: Domain): Problem {
  const { name, sections } = readDefinition(text, SOURCE, 'problem')
  const found = new Map<string, List>()
  for (const { head, section } of sections) {
    if (![':domain', ':objects', ':init', ':goal', ':requirements', ':metric'].includes(head))
      throw unsupported(SOURCE, section)
    if (found.has(head)) throw syntaxError(SOURCE, section.line, `${construct(section)} stands twice`)
    found.set(head, section)
  }
  const objects = readObjects(found.get(':objects'), domain)
  const scope: Scope = {
    source: SOURCE,
    types: domain.types,
    predicates: domain.predicates,
    objects,
    variables: new Set(),
  }
  const goal = found.get(':goal')
  const [, condition, ...more] = goal?.items ?? []
  if (condition === undefined || more.length > 0)
    throw syntaxError(SOURCE, goal?.line ?? 1, 'the problem needs one (:goal CONDITION)')
  return {
    name,
    objects,
    init: readInit(found.get(':init'), scope),
    goal: parseFormula(condition, scope),
  }
}

function readObjects(section: List | undefined, domain: Domain): Map<string, string> {
  const objects = new Map<string, string>()
  if (!section) return objects
  for (const { name, type } of parseTyped(section.items.slice(1), { source: SOURCE, types: domain.types })) {
    const earlier = objects.get(name)
    if (earlier !== undefined && earlier !== type)
      throw syntaxError(SOURCE, section.line, `object '${name}' is declared as ${earlier} and as ${type}`)
    objects.set(name, type)
  }
  if (objects.size > MAX_OBJECTS) throw syntaxError(SOURCE, section.line, `more than ${MAX_OBJECTS} objects`)
  return objects
}

function readInit(section: List | undefined, scope: Scope): Atom[] {
  const facts: Atom[] = []
  for (const node of section?.items.slice(1) ?? []) {
    const head = isWord(node) ? undefined : node.items[0]
    const word = isWord(head) ? head.word : ''
    if (word === '=') continue // costs and distances
    if (word === 'not' && !scope.predicates.has(word))
      throw unsupported(SOURCE, node, 'init holds positive facts')
    facts.push(parseAtom(node, scope))
  }
  return facts
}
