import { itemAt } from '../../item-at.ts'
import {
  type Atom,
  type Formula,
  type Parameter,
  type Predicate,
  parseAtom,
  parseFormula,
  parseParameters,
  type Scope,
} from './formula.ts'
import { construct, isWord, type List, type Node, readList, syntaxError, unsupported } from './sexpr.ts'

/** A change that an action makes. If `when` is given, it must have held before the action. */
export type Effect = { readonly add: boolean; readonly atom: Atom; readonly when: Formula | null }

export type ActionSchema = {
  readonly name: string
  readonly parameters: readonly Parameter[]
  readonly precondition: Formula
  readonly effects: readonly Effect[]
  readonly line: number
}

export type Domain = {
  readonly name: string
  readonly types: ReadonlySet<string>
  readonly predicates: ReadonlyMap<string, Predicate>
  readonly actions: readonly ActionSchema[]
  /** Whether no action changes the predicate. */
  readonly isStatic: (predicate: string) => boolean
}

const SOURCE = 'pddl_domain'
/** Larger domains are refused. ALFRED's has 31 predicates, 15 actions, at most 6 parameters and 5 effects. */
const MAX_PREDICATES = 1_000
const MAX_ACTIONS = 1_000
const MAX_PARAMETERS = 16
const MAX_EFFECTS = 200

/** Reads a domain of the supported PDDL subset. @throws RlError with the line and the construct */
export function parseDomain(text: string): Domain {
  const { name, sections } = readDefinition(text, SOURCE, 'domain')
  const types = new Set<string>()
  const predicates = new Map<string, Predicate>()
  const actions = new Map<string, ActionSchema>()
  for (const { head, section } of inOrder(sections)) {
    switch (head) {
      case ':requirements':
      case ':functions':
        break
      case ':types':
        readTypes(section, types)
        break
      case ':predicates':
        for (const node of section.items.slice(1)) readPredicate(node, types, predicates)
        break
      case ':action': {
        const action = readAction(section, { source: SOURCE, types, predicates, variables: new Set() })
        if (actions.has(action.name))
          throw syntaxError(SOURCE, section.line, `action '${action.name}' is defined twice`)
        actions.set(action.name, action)
        if (actions.size > MAX_ACTIONS) throw unsupported(SOURCE, section, `more than ${MAX_ACTIONS} actions`)
        break
      }
      default:
        throw unsupported(SOURCE, section)
    }
  }
  const changed = new Set(
    [...actions.values()].flatMap(({ effects }) => effects.map((e) => e.atom.predicate)),
  )
  return {
    name,
    types,
    predicates,
    actions: [...actions.values()],
    isStatic: (predicate) => !changed.has(predicate),
  }
}

/** Reads `(define (domain|problem NAME) section …)`, the form of domains and problems. */
export function readDefinition(text: string, source: string, kind: 'domain' | 'problem') {
  const { items, line } = readList(text, source)
  const [define, title, ...sections] = items
  if (!isWord(define) || define.word !== 'define' || title === undefined || isWord(title))
    throw syntaxError(source, line, `a ${kind} begins with (define (${kind} NAME)`)
  const [word, name] = title.items
  if (!isWord(word) || word.word !== kind || !isWord(name))
    throw syntaxError(source, title.line, `(${kind} NAME) expected, found ${construct(title)}`)
  return {
    name: name.word,
    sections: sections.map((section) => {
      const head = isWord(section) ? undefined : section.items[0]
      if (isWord(section) || !isWord(head))
        throw syntaxError(source, section.line, `a section (:name …) expected, found ${construct(section)}`)
      return { head: head.word, section }
    }),
  }
}

/** Puts types and predicates first, in any order of the text. */
function inOrder<T extends { readonly head: string }>(sections: readonly T[]): T[] {
  const rank = (head: string) => [':types', ':predicates'].indexOf(head) + 1 || 3
  return [...sections].sort((a, b) => rank(a.head) - rank(b.head))
}

function readTypes(section: List, types: Set<string>): void {
  const nodes = section.items.slice(1)
  for (let i = 0; i < nodes.length; i++) {
    const node = itemAt(nodes, i)
    if (!isWord(node)) throw unsupported(SOURCE, node)
    if (node.word !== '-') {
      types.add(node.word)
      continue
    }
    const parent = nodes[++i]
    if (!isWord(parent) || parent.word !== 'object')
      throw unsupported(SOURCE, parent ?? node, 'types are flat, below object only')
  }
}

function readPredicate(node: Node, types: ReadonlySet<string>, predicates: Map<string, Predicate>): void {
  const name = isWord(node) ? undefined : node.items[0]
  if (isWord(node) || !isWord(name)) throw syntaxError(SOURCE, node.line, '(predicate ?x - type …) expected')
  const list = { items: node.items.slice(1), line: node.line }
  const parameters = parseParameters(list, { source: SOURCE, types })
  if (parameters.length > 2) throw unsupported(SOURCE, node, `a predicate of ${parameters.length} arguments`)
  if (predicates.has(name.word)) throw syntaxError(SOURCE, node.line, `${construct(node)} is declared twice`)
  if (predicates.size >= MAX_PREDICATES)
    throw unsupported(SOURCE, node, `more than ${MAX_PREDICATES} predicates`)
  predicates.set(name.word, { name: name.word, types: parameters.map(({ type }) => type) })
}

function readAction(section: List, scope: Scope): ActionSchema {
  const [, name, ...rest] = section.items
  if (!isWord(name)) throw syntaxError(SOURCE, section.line, '(:action NAME …) expected')
  const parts = new Map<string, Node>()
  for (let i = 0; i < rest.length; i += 2) {
    const [key, value] = [rest[i], rest[i + 1]]
    if (!isWord(key) || value === undefined)
      throw syntaxError(SOURCE, itemAt(rest, i).line, `action '${name.word}' is no list of keys and values`)
    if (![':parameters', ':precondition', ':effect'].includes(key.word)) throw unsupported(SOURCE, key)
    if (parts.has(key.word)) throw syntaxError(SOURCE, key.line, `${key.word} stands twice`)
    parts.set(key.word, value)
  }
  const list = parts.get(':parameters')
  if (isWord(list)) throw syntaxError(SOURCE, list.line, ':parameters must be a list')
  const parameters = list ? parseParameters(list, scope) : []
  if (parameters.length > MAX_PARAMETERS)
    throw unsupported(SOURCE, section, `more than ${MAX_PARAMETERS} parameters`)
  const inner = { ...scope, variables: new Set(parameters.map((parameter) => parameter.name)) }
  const precondition = parts.get(':precondition')
  const effect = parts.get(':effect')
  const effects = effect ? readEffects(effect, inner, null) : []
  if (effects.length > MAX_EFFECTS) throw unsupported(SOURCE, section, `more than ${MAX_EFFECTS} effects`)
  return {
    name: name.word,
    parameters,
    precondition: precondition ? parseFormula(precondition, inner) : { op: 'and', parts: [] },
    effects,
    line: section.line,
  }
}

function readEffects(node: Node, scope: Scope, when: Formula | null): Effect[] {
  const head = isWord(node) ? undefined : node.items[0]
  if (isWord(node)) throw syntaxError(SOURCE, node.line, `expected an effect, found ${construct(node)}`)
  if (head === undefined) return []
  const rest = node.items.slice(1)
  switch (isWord(head) ? head.word : '') {
    case 'and':
      return rest.flatMap((part) => readEffects(part, scope, when))
    case 'increase':
      return []
    case 'not': {
      const [atom, ...more] = rest
      if (atom === undefined || more.length > 0)
        throw syntaxError(SOURCE, node.line, `(not …) has ${rest.length} arguments, not 1`)
      return [{ add: false, atom: parseAtom(atom, scope), when }]
    }
    case 'when': {
      if (when) throw unsupported(SOURCE, node, 'when inside when')
      const [condition, effect, ...more] = rest
      if (condition === undefined || effect === undefined || more.length > 0)
        throw syntaxError(SOURCE, node.line, `(when …) has ${rest.length} arguments, not 2`)
      return readEffects(effect, scope, parseFormula(condition, scope))
    }
    case 'forall':
    case 'decrease':
    case 'assign':
    case 'scale-up':
    case 'scale-down':
    case 'or':
    case 'exists':
    case '=':
      throw unsupported(SOURCE, node)
    default:
      return [{ add: true, atom: parseAtom(node, scope), when }]
  }
}
