import { RlError } from '../../errors.ts'
import { budget, exhausted } from './budget.ts'
import type { Domain } from './domain.ts'
import { type Expression, parseQuery, parseTemplate, type TextSymbol } from './template.ts'
import { type CompiledQuery, compileQuery, type RenderContext, type Scope } from './text-query.ts'
import { grammarError, type Twl2 } from './twl2.ts'

/** A text compiled for the variables in scope. */
export type Text = {
  readonly render: (context: RenderContext) => string
  /** Facts that the text looks at, as indexes into Facts. */
  readonly reads: ReadonlySet<number>
  /** Variables in scope that the text depends on, as slots. */
  readonly uses: ReadonlySet<number>
}

const MAX_DEPTH = 50
const MAX_TEXTS = 5_000
const MAX_LENGTH = 1_000_000

/**
 * Compiles texts of a grammar. A rule is compiled once for every set of variables with which it is used.
 * @param external whether `#task#` is replaced by the sentence of the game
 */
export function textCompiler(
  { rules }: Pick<Twl2, 'rules'>,
  { predicates }: Pick<Domain, 'predicates'>,
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
    const [only] = texts
    if (only !== undefined && texts.length === 1) return only
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
    const [empty, separator, lastSeparator] = separators
    const { reads, uses } = union([item, matching, ...separators])
    return {
      reads,
      uses: new Set([...uses].filter((slot) => slot < scope.length)),
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
        if (!empty || !separator || !lastSeparator) return items.join('')
        const last = items.pop()
        if (last === undefined) return empty.render(context)
        if (items.length === 0) return last
        return items.join(separator.render(context)) + lastSeparator.render(context) + last
      },
    }
  }

  /** `#name#` with the given variables in scope: the first production whose condition has a solution. */
  function rule(name: string, line: number, scope: Scope): Text {
    const key = JSON.stringify([name, scope])
    const known = compiled.get(key)
    if (known) return known
    if (name === 'task' && external) return TASK
    const productions = rules.get(name) ?? []
    const [first] = productions
    if (first === undefined) throw grammarError(line, `there is no rule '#${name}#'`)
    if (compiled.size >= MAX_TEXTS || depth >= MAX_DEPTH)
      throw grammarError(first.line, `rule '${name}' is nested too deep or used in too many ways`)
    let text: Text | undefined
    // A rule may refer to itself. Such a use counts as reading everything.
    compiled.set(key, {
      reads: new Set(Array.from({ length: 2 * predicates.size }, (_, index) => index)),
      uses: new Set(scope.keys()),
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
  if (slot < 0) throw grammarError(line, `{${variable}.${property}} is used, but no '${variable}' is known`)
  const uses = new Set([slot])
  switch (property) {
    case 'name':
      return { reads: NONE, uses, render: ({ names, values }) => names[values[slot]!]! }
    case 'id':
      return { reads: NONE, uses, render: ({ tables, values }) => tables.ids[values[slot]!]! }
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
  const [only] = alternatives
  if (alternatives.length === 1 && only?.condition === null) return only.text
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
