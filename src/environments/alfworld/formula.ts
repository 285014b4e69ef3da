import { itemAt } from '../../item-at.ts'
import { construct, isWord, type List, type Node, syntaxError, unsupported } from './sexpr.ts'

/** A variable (with its `?`) or the name of an object. */
export type Term = string
export const isVariable = (term: Term) => term.startsWith('?')

export type Parameter = { readonly name: Term; readonly type: string }

/** A condition of the PDDL subset. An empty `and` is true, an empty `or` is false. */
export type Formula =
  | { readonly op: 'and' | 'or'; readonly parts: readonly Formula[] }
  | { readonly op: 'not'; readonly part: Atom | Equality }
  | { readonly op: 'exists'; readonly parameters: readonly Parameter[]; readonly part: Formula }
  | Atom
  | Equality
export type Atom = {
  readonly op: 'atom'
  readonly predicate: string
  readonly args: readonly Term[]
  readonly line: number
}
export type Equality = { readonly op: 'equal'; readonly args: readonly Term[]; readonly line: number }

export type Predicate = { readonly name: string; readonly types: readonly string[] }

/** Names that a formula may use. */
export type Scope = {
  /** The text's name, for messages. */
  readonly source: string
  readonly types: ReadonlySet<string>
  readonly predicates: ReadonlyMap<string, Predicate>
  /** Declared objects, if they are known (in a problem). */
  readonly objects?: ReadonlyMap<string, string>
  readonly variables: ReadonlySet<string>
}

/** Reads a condition. @throws RlError with the line and the construct, also for undeclared names. */
export function parseFormula(node: Node, scope: Scope): Formula {
  if (isWord(node))
    throw syntaxError(scope.source, node.line, `expected a condition, found ${construct(node)}`)
  const [head, ...rest] = node.items
  if (head === undefined) return { op: 'and', parts: [] }
  if (!isWord(head)) throw syntaxError(scope.source, node.line, 'a condition must begin with a word')
  switch (head.word) {
    case 'and':
    case 'or':
      return { op: head.word, parts: rest.map((part) => parseFormula(part, scope)) }
    case 'not': {
      const inner = single(rest, node, scope.source)
      const part = parseFormula(inner, scope)
      if (part.op !== 'atom' && part.op !== 'equal')
        throw unsupported(scope.source, node, `not of ${construct(inner)}, only of a single literal`)
      return { op: 'not', part }
    }
    case 'exists': {
      const [list, condition, ...more] = rest
      if (list === undefined || isWord(list) || condition === undefined || more.length > 0)
        throw syntaxError(scope.source, node.line, '(exists …) needs a list of variables and one condition')
      const parameters = parseParameters(list, scope)
      const variables = new Set([...scope.variables, ...parameters.map(({ name }) => name)])
      return { op: 'exists', parameters, part: parseFormula(condition, { ...scope, variables }) }
    }
    case '=':
      if (rest.length !== 2)
        throw syntaxError(scope.source, node.line, `(= …) has ${rest.length} arguments, not 2`)
      return { op: 'equal', args: rest.map((arg) => parseTerm(arg, scope)), line: node.line }
    case 'forall':
    case 'imply':
    case 'when':
    case 'preference':
    case '<':
    case '>':
    case '<=':
    case '>=':
      throw unsupported(scope.source, node)
    default:
      return parseAtom(node, scope)
  }
}

/** Reads `(predicate term …)` and checks every name in it. */
export function parseAtom(node: Node, scope: Scope): Atom {
  if (isWord(node)) throw syntaxError(scope.source, node.line, `expected a fact, found ${construct(node)}`)
  const { items, line } = node
  const [head, ...args] = items
  if (!isWord(head)) throw syntaxError(scope.source, line, 'a fact must begin with a predicate')
  const predicate = scope.predicates.get(head.word)
  if (!predicate) throw syntaxError(scope.source, line, `${construct(node)} uses an undeclared predicate`)
  if (args.length !== predicate.types.length)
    throw syntaxError(
      scope.source,
      line,
      `${construct(node)} has ${args.length} arguments, declared with ${predicate.types.length}`,
    )
  return { op: 'atom', predicate: predicate.name, args: args.map((arg) => parseTerm(arg, scope)), line }
}

function parseTerm(node: Node, { source, variables, objects }: Scope): Term {
  if (!isWord(node)) throw unsupported(source, node, 'arguments must be variables or objects')
  if (isVariable(node.word) ? !variables.has(node.word) : objects && !objects.has(node.word))
    throw syntaxError(source, node.line, `${construct(node)} is not declared`)
  return node.word
}

/** Reads `?a ?b - type ?c - type`. Without a type it is `object`. */
export function parseParameters(list: List, scope: Pick<Scope, 'source' | 'types'>): Parameter[] {
  const parameters = parseTyped(list.items, scope)
  const wrong = parameters.find(({ name }) => !isVariable(name))
  if (wrong) throw syntaxError(scope.source, list.line, `parameter '${wrong.name}' does not begin with '?'`)
  if (new Set(parameters.map(({ name }) => name)).size < parameters.length)
    throw syntaxError(scope.source, list.line, 'a parameter is declared twice in one list')
  return parameters
}

/**
 * Reads a typed list of names: `a b - type c - type d`. ALFRED's domain has a stray comma in `(exists (?l -
 * location, ?r - receptacle) …)`. Fast Downward reads the comma as part of the type's name. No object is of
 * type `location,`, so the condition never holds. Players can then examine an object only while they hold it.
 * This reader does the same: a type with a comma is a type without objects.
 */
export function parseTyped(
  nodes: readonly Node[],
  { source, types }: Pick<Scope, 'source' | 'types'>,
): Parameter[] {
  const named: Parameter[] = []
  let pending: string[] = []
  for (let i = 0; i < nodes.length; i++) {
    const node = itemAt(nodes, i)
    if (!isWord(node)) throw unsupported(source, node, 'a typed list holds plain names')
    if (node.word !== '-') {
      pending.push(node.word)
      continue
    }
    const type = nodes[++i]
    if (type === undefined) throw syntaxError(source, node.line, "a type must follow '-'")
    if (!isWord(type)) throw unsupported(source, type, 'a type is one name')
    if (type.word !== 'object' && !types.has(type.word))
      throw syntaxError(source, type.line, `type ${construct(type)} is not declared`)
    for (const name of pending) named.push({ name, type: type.comma ? `${type.word},` : type.word })
    pending = []
  }
  for (const name of pending) named.push({ name, type: 'object' })
  return named
}

function single(nodes: readonly Node[], parent: Node, source: string): Node {
  const [only, ...more] = nodes
  if (only === undefined || more.length > 0)
    throw syntaxError(source, parent.line, `${construct(parent)} has ${nodes.length} arguments, not 1`)
  return only
}
