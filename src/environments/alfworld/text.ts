import { RlError } from '../../errors.ts'
import { budget, exhausted } from './budget.ts'
import { type Entity, type Facts, lowerBound } from './facts.ts'
import type { Tables } from './match.ts'
import {
  type Conjunct,
  type Expression,
  parseQuery,
  parseTemplate,
  type Query,
  type QueryVariable,
  type TextSymbol,
} from './template.ts'
import { grammarError, type Twl2 } from './twl2.ts'

/** What a text is rendered from. `values` holds the variables in scope by slot, and is scratch space behind them. */
export type RenderContext = {
  readonly tables: Pick<Tables, 'ids' | 'types' | 'packing'>
  /** Name of each entity. */
  readonly names: readonly string[]
  /** The sentence that stands for the grammar's task rule. */
  readonly task: string
  readonly facts: Facts
  readonly values: Entity[]
}

/** A text compiled for the variables in scope. */
export type Text = {
  readonly render: (context: RenderContext) => string
  /** Facts that the text looks at, as indexes into Facts. */
  readonly reads: ReadonlySet<number>
  /** Variables in scope that the text depends on, as slots. */
  readonly uses: ReadonlySet<number>
}

/** The variables in scope, by slot. A later one hides an earlier one of the same name, in expressions only. */
type Scope = readonly QueryVariable[]

const MAX_DEPTH = 50
const MAX_TEXTS = 5_000
const MAX_LENGTH = 1_000_000

/** A rule whose text is not in the grammar but in the game: `#task#`. */
export const TASK_RULE = 'task'

/**
 * Compiles texts of a grammar. A rule is compiled once for every set of variables that it is used with.
 * @param predicates number of each predicate of the domain
 * @param external whether `#task#` stands for the sentence of the game at hand
 */
export function textCompiler(
  { rules }: Pick<Twl2, 'rules'>,
  predicates: ReadonlyMap<string, number>,
  external: boolean,
) {
  const compiled = new Map<string, Text>()
  let depth = 0

  function template(source: string, line: number, scope: Scope): Text {
    return sequence(parseTemplate(source, line), line, scope)
  }

  function sequence(symbols: readonly TextSymbol[], line: number, scope: Scope): Text {
    const texts = symbols.map((symbol) => symbolText(symbol, line, scope))
    const render = texts.map((text) => text.render)
    if (render.length === 1) return texts[0]
    return {
      ...union(texts),
      render: (context) => {
        let out = ''
        for (const part of render) out += part(context)
        if (--budget.left < 0) exhausted()
        if (out.length > MAX_LENGTH) throw tooLong()
        return out
      },
    }
  }

  function symbolText(symbol: TextSymbol, line: number, scope: Scope): Text {
    if (symbol.kind === 'text') return constant(symbol.text)
    if (symbol.kind === 'rule') return rule(symbol.rule, line, scope)
    const { body, query, list } = symbol
    const matching = query ? compileQuery(query, scope, predicates) : null
    const inner = matching?.scope ?? scope
    const item = body.kind === 'rule' ? rule(body.rule, line, inner) : expression(body, line, inner)
    if (!matching) return item
    const separators = list
      ? ['list_empty', 'list_separator', 'list_last_separator'].map((name) => rule(name, line, scope))
      : []
    const [empty, separator, last] = separators.map((text) => text.render)
    const used = union([item, ...separators])
    const binds = inner.length > scope.length
    return {
      reads: new Set([...used.reads, ...matching.reads]),
      // A new variable must differ from every value in scope, so then all of them count.
      uses: new Set(
        binds ? scope.keys() : [...used.uses, ...matching.uses].filter((slot) => slot < scope.length),
      ),
      render: (context) => {
        const items: string[] = []
        let length = 0
        matching.search(context, () => {
          const text = item.render(context)
          length += text.length + 2
          if (length > MAX_LENGTH) throw tooLong()
          items.push(text)
          return false
        })
        if (!list) return items.join('')
        if (items.length === 0) return empty(context)
        if (items.length === 1) return items[0]
        return items.slice(0, -1).join(separator(context)) + last(context) + items[items.length - 1]
      },
    }
  }

  /** `#name#` with the given variables in scope: the first production whose condition has a solution. */
  function rule(name: string, line: number, scope: Scope): Text {
    const key = JSON.stringify([name, scope])
    const known = compiled.get(key)
    if (known) return known
    if (name === TASK_RULE && external) return TASK
    const productions = rules.get(name)
    if (!productions || productions.length === 0) throw grammarError(line, `there is no rule '#${name}#'`)
    if (compiled.size >= MAX_TEXTS || depth >= MAX_DEPTH)
      throw grammarError(productions[0].line, `rule '${name}' is nested too deep or used in too many ways`)
    // A rule may refer to itself: what it looks at is then found by the outermost use.
    let text: Text | undefined
    const reads = new Set<number>()
    const uses = new Set<number>()
    compiled.set(key, {
      reads,
      uses,
      render: (context) => nested(() => (text as Text).render(context), name),
    })
    depth++
    text = choice(
      productions.map(({ rhs, condition, line: at }) => ({
        condition: condition === '' ? null : compileQuery(parseQuery(condition, at), scope, predicates),
        text: template(rhs, at, scope),
      })),
      name,
    )
    depth--
    for (const index of text.reads) reads.add(index)
    for (const slot of text.uses) uses.add(slot)
    compiled.set(key, text)
    return text
  }

  function expression(part: Expression, line: number, scope: Scope): Text {
    if (part.kind === 'literal') return constant(part.text)
    if (part.kind === 'property') return property(part, line, scope)
    const parts = part.parts.map((inner) => expression(inner, line, scope))
    const render = parts.map((text) => text.render)
    if (part.kind === 'join')
      return { ...union(parts), render: (context) => render.map((text) => text(context)).join('') }
    return {
      ...union(parts),
      render: (context) => {
        let out = ''
        for (const alternative of render) {
          out = alternative(context)
          if (out !== '') break
        }
        return out
      },
    }
  }

  return { template, rule }
}

function property(
  { variable, property }: Extract<Expression, { kind: 'property' }>,
  line: number,
  scope: Scope,
): Text {
  const slot = scope.findLastIndex(({ name }) => name === variable)
  if (slot < 0) throw grammarError(line, `{${variable}.${property}} stands where no '${variable}' is known`)
  const uses = new Set([slot])
  switch (property) {
    case 'name':
      return { reads: NONE, uses, render: ({ names, values }) => names[values[slot]] }
    case 'id':
      return { reads: NONE, uses, render: ({ tables, values }) => tables.ids[values[slot]] }
    case 'indefinite':
      return constant('a')
    case 'definite':
      return constant('the')
  }
}

type Alternative = { readonly condition: CompiledQuery | null; readonly text: Text }

function choice(alternatives: readonly Alternative[], name: string): Text {
  const conditions = alternatives.flatMap(({ condition }) => (condition ? [condition] : []))
  const used = union([...alternatives.map(({ text }) => text), ...conditions])
  if (alternatives.length === 1 && alternatives[0].condition === null) return alternatives[0].text
  return {
    ...used,
    render: (context) => {
      for (const { condition, text } of alternatives)
        if (condition === null || condition.search(context, () => true)) return text.render(context)
      throw new RlError(`no production of the grammar's rule '${name}' applies`, {
        code: 'alfworld.grammar-syntax',
        hint: 'give it a last production without a condition',
      })
    },
  }
}

type CompiledQuery = {
  readonly scope: Scope
  readonly reads: ReadonlySet<number>
  readonly uses: ReadonlySet<number>
  /** Runs through the solutions in the order of the facts, with the values in the context; stops where `found` says true. */
  readonly search: (context: RenderContext, found: () => boolean) => boolean
}

/**
 * Queries are evaluated from left to right, each part over its facts in the order of their arguments' ids. Different variables have
 * different values, also different from all values in scope.
 */
function compileQuery(query: Query, outer: Scope, predicates: ReadonlyMap<string, number>): CompiledQuery {
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
  if (scope.length > outer.length) for (const slot of outer.keys()) uses.add(slot)
  const start = run((_, found) => found())
  return {
    scope,
    reads,
    uses,
    search: start,
  }
}

type Step = (context: RenderContext, found: () => boolean) => boolean

/** Which facts a conjunct looks at: `p`, or the marks of `p` for `not_p`; -1 where the domain has no such predicate. */
function factsIndex({ predicate }: Conjunct, predicates: ReadonlyMap<string, number>): number {
  const direct = predicates.get(predicate)
  if (direct !== undefined) return direct
  const marked = predicate.startsWith('not_') ? predicates.get(predicate.slice(4)) : undefined
  return marked === undefined ? -1 : predicates.size + marked
}

function conjunctStep(
  index: number,
  slots: readonly number[],
  types: readonly string[],
  known: number,
  next: Step,
): Step {
  if (index < 0 || slots.length > 2) return () => false
  const [a, b] = slots
  const isNew = (context: RenderContext, slot: number, position: number, value: Entity) => {
    const type = types[position]
    if (type !== 'object' && context.tables.types[value] !== type) return false
    for (let i = 0; i < slot; i++) if (context.values[i] === value) return false
    context.values[slot] = value
    return true
  }
  if (a === undefined) return (context, found) => context.facts[index].length > 0 && next(context, found)
  if (b === undefined)
    return (context, found) => {
      const relation = context.facts[index]
      if (a < known) {
        const value = context.values[a]
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
    const relation = context.facts[index]
    if (a < known && b < known) {
      const key = (values[a] << bits) | values[b]
      return relation[lowerBound(relation, key)] === key && next(context, found)
    }
    for (let i = a < known ? lowerBound(relation, values[a] << bits) : 0; i < relation.length; i++) {
      if (--budget.left < 0) exhausted()
      const first = relation[i] >>> bits
      const second = relation[i] & mask
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

const NONE: ReadonlySet<number> = new Set()

const constant = (text: string): Text => ({ reads: NONE, uses: NONE, render: () => text })

const TASK: Text = { reads: NONE, uses: NONE, render: ({ task }) => task }

function union(texts: readonly Pick<Text, 'reads' | 'uses'>[]): Pick<Text, 'reads' | 'uses'> {
  return {
    reads: new Set(texts.flatMap(({ reads }) => [...reads])),
    uses: new Set(texts.flatMap(({ uses }) => [...uses])),
  }
}

let nesting = 0

/** Renders a rule that refers to itself, but not endlessly. */
function nested(render: () => string, name: string): string {
  if (nesting >= MAX_DEPTH)
    throw new RlError(`the grammar's rule '${name}' refers to itself without an end`, {
      code: 'alfworld.grammar-syntax',
      hint: 'give it a production that does not',
    })
  nesting++
  try {
    return render()
  } finally {
    nesting--
  }
}

const tooLong = () =>
  new RlError(`a text of the game is longer than ${MAX_LENGTH} characters`, {
    code: 'alfworld.too-large',
    hint: 'the grammar lists too much',
  })
