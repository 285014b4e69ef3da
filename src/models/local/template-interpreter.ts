/**
 * Runs templates as Jinja's sandbox does. The template library silently differs in how values are written and in filters of values that
 * are no text. This module also limits the work of a template from outside.
 */

import { Environment, Interpreter } from '@huggingface/jinja'
import { itemAt } from '../../item-at.ts'
import { escaped, type TemplateValue, textOf } from './template-values.ts'

type Node = { readonly type: string; readonly [part: string]: unknown }

/** Members of the library's interpreter that its types do not declare. */
declare class Internals {
  evaluate(node: Node | undefined, environment: Environment): TemplateValue
  evaluateBlock(nodes: readonly Node[], environment: Environment): TemplateValue
  evaluateBinaryExpression(node: Node, environment: Environment): TemplateValue
  evaluateFor(node: Node, environment: Environment): TemplateValue
  evaluateMemberExpression(node: Node, environment: Environment): TemplateValue
  evaluateTestExpression(node: Node, environment: Environment): TemplateValue
  evaluateArguments(
    args: readonly Node[],
    environment: Environment,
  ): [TemplateValue[], Map<string, TemplateValue>]
  applyFilter(operand: TemplateValue, filter: Node, environment: Environment): TemplateValue
  run(program: Node): TemplateValue
}

const Base = Interpreter as unknown as new (environment: Environment) => Internals

/** Most evaluations of one rendering. A long chat of thousands of messages takes some hundred thousand. */
const MOST_STEPS = 2_000_000
/** Cost of a loop's item, beside the work in its body. */
const STEPS_OF_ITEM = 16
/** Most characters of a text. The next constant limits the items of a list. */
const MOST_CHARACTERS = 2 ** 26
const MOST_ITEMS = 1_000_000
/** Most blocks within one another, also by macros that call themselves. Each name is looked for in every scope above. */
const MOST_DEPTH = 300
/** The limit of Jinja's sandbox. */
const MOST_RANGE = 100_000

/** Statements print nothing themselves. A block of statements gives a text. */
const STATEMENTS: ReadonlySet<string> = new Set([
  ...[
    'Program',
    'If',
    'For',
    'Break',
    'Continue',
    'Set',
    'Macro',
    'CallStatement',
    'FilterStatement',
    'Comment',
  ],
])
/** Types that pass these tests in Python. */
const SEQUENCES: ReadonlySet<string> = new Set(
  ['String', 'Array', 'Tuple', 'Object', 'Undefined'].map((type) => `${type}Value`),
)
const TESTS: Readonly<Record<string, ReadonlySet<string> | undefined>> = Object.assign(Object.create(null), {
  iterable: SEQUENCES,
  sequence: SEQUENCES,
  number: new Set(['IntegerValue', 'FloatValue', 'BooleanValue']),
})
/** Filters that convert any value to its text. */
const OF_TEXT: ReadonlySet<string> = new Set(['upper', 'lower', 'capitalize', 'trim', 'string', 'replace'])
/** Filters after which a text marked as safe stays safe. */
const KEEP_SAFE: ReadonlySet<string> = new Set(['upper', 'lower', 'capitalize', 'trim', 'string', 'safe'])

export type Functions = Readonly<Record<string, (...args: never[]) => unknown>>

/** @param own functions with names that no template has */
export function renderTemplate(
  program: unknown,
  variables: Readonly<Record<string, unknown>>,
  own: Functions,
): string {
  const environment = new Environment()
  const globals = { true: true, True: true, false: false, False: false, none: null, None: null }
  const functions = { raise_exception: raise, range: boundedRange, ...own }
  for (const [name, value] of Object.entries({ ...globals, ...functions, ...variables }))
    environment.set(name, value)
  return textOf(new Jinja(environment).run(program as Node))
}

function raise(message: unknown): never {
  throw new Error(String(message))
}

/** Python's `range`, with the sandbox's limit. */
function boundedRange(first: unknown, second?: unknown, step: unknown = 1): number[] {
  const [from, to] = second === undefined ? [0, first] : [first, second]
  for (const value of [from, to, step])
    if (!Number.isInteger(value)) throw new TypeError('range is for whole numbers')
  const [start, stop, by] = [from, to, step] as [number, number, number]
  if (by === 0) throw new RangeError('range: its step is 0')
  const length = Math.max(0, Math.ceil((stop - start) / by))
  if (length > MOST_RANGE)
    throw new RangeError(`range is too big: ${length} values, ${MOST_RANGE} are allowed`)
  return Array.from({ length }, (_, i) => start + i * by)
}

class Jinja extends Base {
  #steps = 0
  #depth = 0
  /** Texts marked by `safe`. Texts added to them are escaped. */
  readonly #safe = new WeakSet<TemplateValue>()

  override evaluate(node: Node | undefined, environment: Environment): TemplateValue {
    if (node?.type === GIVEN) return node.value as TemplateValue
    this.#step()
    return bounded(super.evaluate(node, environment))
  }

  override evaluateBlock(nodes: readonly Node[], environment: Environment): TemplateValue {
    this.#step()
    if (this.#depth === MOST_DEPTH)
      throw new RangeError(`more than ${MOST_DEPTH} blocks are within one another`)
    this.#depth++
    try {
      return this.#blockText(nodes, environment)
    } finally {
      // `break` and `continue` leave a block by an exception.
      this.#depth--
    }
  }

  #blockText(nodes: readonly Node[], environment: Environment): TemplateValue {
    let text = ''
    for (const node of nodes) {
      const value = this.evaluate(node, environment)
      if (STATEMENTS.has(node.type) && value.type !== 'StringValue') continue
      text += textOf(value)
      if (text.length > MOST_CHARACTERS) throw tooLong()
    }
    return this.#text(text)
  }

  override evaluateFor(node: Node, environment: Environment): TemplateValue {
    const over = node.iterable as Node
    const isChosen = over.type === 'SelectExpression'
    const items = this.evaluate(isChosen ? (over.lhs as Node) : over, environment)
    if (Array.isArray(items.value)) this.#step(STEPS_OF_ITEM * items.value.length)
    const iterable = isChosen ? { ...over, lhs: given(items) } : given(items)
    return super.evaluateFor({ ...node, iterable }, environment)
  }

  override evaluateBinaryExpression(node: Node, environment: Environment): TemplateValue {
    const { value: operator } = node.operator as { readonly value: string }
    if (operator !== '~' && operator !== '+') return super.evaluateBinaryExpression(node, environment)
    const left = this.evaluate(node.left as Node, environment)
    const right = this.evaluate(node.right as Node, environment)
    // No chat template uses autoescape. Without it, this operator does not check what is safe.
    if (operator === '~') return this.#text(textOf(left) + textOf(right))
    if (left.type === 'StringValue' && right.type === 'StringValue') return this.#added(left, right)
    if (left.type === 'StringValue' || right.type === 'StringValue')
      throw new TypeError(
        `a text and ${left.type === 'StringValue' ? named(right) : named(left)} cannot be added`,
      )
    return super.evaluateBinaryExpression({ ...node, left: given(left), right: given(right) }, environment)
  }

  override evaluateMemberExpression(node: Node, environment: Environment): TemplateValue {
    const object = this.evaluate(node.object as Node, environment)
    if (object.type === 'UndefinedValue')
      throw new TypeError('what is undefined has neither parts nor methods')
    return super.evaluateMemberExpression({ ...node, object: given(object) }, environment)
  }

  override evaluateTestExpression(node: Node, environment: Environment): TemplateValue {
    const types = TESTS[(node.test as { readonly value: string }).value]
    if (!types) return super.evaluateTestExpression(node, environment)
    const passes = types.has(this.evaluate(node.operand as Node, environment).type)
    const test = { type: 'Identifier', value: passes ? 'undefined' : 'defined' }
    return super.evaluateTestExpression({ ...node, operand: given(this.#undefined()), test }, environment)
  }

  override applyFilter(operand: TemplateValue, filter: Node, environment: Environment): TemplateValue {
    const name = nameOf(filter)
    const args = () => this.evaluateArguments((filter.args as readonly Node[] | undefined) ?? [], environment)
    if (name === 'safe') return this.#marked(this.#text(textOf(operand)))
    if (name === 'trim') return this.#trimmed(operand, args())
    if (name === 'tojson') {
      refuseUndefined(operand)
      if (operand.type === 'FloatValue') return this.#text(textOf(operand))
    }
    if (name === 'string') return this.#as(operand, this.#text(textOf(operand)))
    if (name === 'capitalize') return this.#as(operand, this.#text(capitalized(textOf(operand))))
    if (name === 'join') return this.#text(joinedBy(operand, args()))
    if (operand.type === 'UndefinedValue') {
      if (name === 'length' || name === 'count') return this.#literal('IntegerLiteral', 0)
      if (name === 'list' || name === 'items') return this.#literal('ArrayLiteral', [])
      if (name === 'first' || name === 'last') return operand
    }
    const read = OF_TEXT.has(name) && operand.type !== 'StringValue' ? this.#text(textOf(operand)) : operand
    // For an empty list the library returns nothing at all.
    const given = super.applyFilter(read, filter, environment) as TemplateValue | undefined
    return given === undefined ? this.#undefined() : this.#as(operand, given, name)
  }

  #step(count = 1): void {
    this.#steps += count
    if (this.#steps > MOST_STEPS) throw new RangeError(`it takes more than ${MOST_STEPS} steps`)
  }

  #text(value: string): TemplateValue {
    return this.#literal('StringLiteral', value)
  }

  #undefined(): TemplateValue {
    return super.evaluate({ type: 'Identifier', value: ' undefined' }, new Environment())
  }

  #literal(type: string, value: unknown): TemplateValue {
    return bounded(super.evaluate({ type, value }, new Environment()))
  }

  #marked(value: TemplateValue): TemplateValue {
    this.#safe.add(value)
    return value
  }

  #as(before: TemplateValue, value: TemplateValue, filter = 'string'): TemplateValue {
    return this.#safe.has(before) && KEEP_SAFE.has(filter) ? this.#marked(value) : value
  }

  #added(left: TemplateValue, right: TemplateValue): TemplateValue {
    const isSafe = this.#safe.has(left) || this.#safe.has(right)
    const part = (value: TemplateValue) =>
      isSafe && !this.#safe.has(value) ? escaped(textOf(value)) : textOf(value)
    const text = this.#text(part(left) + part(right))
    return isSafe ? this.#marked(text) : text
  }

  #trimmed(operand: TemplateValue, [args, named]: ReturnType<Internals['evaluateArguments']>): TemplateValue {
    const characters = args.at(0) ?? named.get('chars')
    if (characters && characters.type !== 'StringValue' && characters.type !== 'NullValue')
      throw new TypeError('trim takes characters alone')
    const text = stripped(textOf(operand), (characters?.value ?? null) as string | null)
    return this.#as(operand, this.#text(text))
  }
}

/** A node that already is a value. */
const GIVEN = ' given'
const given = (value: TemplateValue): Node => ({ type: GIVEN, value })

function nameOf(filter: Node): string {
  const { value } = (filter.type === 'CallExpression' ? filter.callee : filter) as {
    readonly value?: unknown
  }
  return String(value)
}

function named({ type }: TemplateValue): string {
  return type === 'UndefinedValue' ? 'what is undefined' : `a ${type.replace(/Value$/, '').toLowerCase()}`
}

function bounded(value: TemplateValue): TemplateValue {
  if (value.type === 'StringValue' && (value.value as string).length > MOST_CHARACTERS) throw tooLong()
  if (value.type === 'ArrayValue' && (value.value as unknown[]).length > MOST_ITEMS)
    throw new RangeError(`a list has more than ${MOST_ITEMS} items`)
  return value
}

function tooLong(): RangeError {
  return new RangeError(`a text has more than ${MOST_CHARACTERS} characters`)
}

/** Python's JSON has no undefined value, at any depth. */
function refuseUndefined({ type, value }: TemplateValue): void {
  if (type === 'UndefinedValue') throw new TypeError('tojson is not for what is undefined')
  if (type === 'ArrayValue' || type === 'TupleValue')
    for (const one of value as TemplateValue[]) refuseUndefined(one)
  if (type === 'ObjectValue')
    for (const one of (value as ReadonlyMap<string, TemplateValue>).values()) refuseUndefined(one)
}

function joinedBy(
  operand: TemplateValue,
  [args, named]: [readonly TemplateValue[], ReadonlyMap<string, TemplateValue>],
): string {
  if (args.length > 1 || named.has('attribute')) throw new Error('join by an attribute is not implemented')
  const between = args.at(0) ?? named.get('d') ?? named.get('separator')
  const items =
    operand.type === 'StringValue'
      ? [...(operand.value as string)]
      : operand.type === 'UndefinedValue'
        ? []
        : operand.type === 'ObjectValue'
          ? [...(operand.value as ReadonlyMap<string, unknown>).keys()]
          : Array.isArray(operand.value)
            ? (operand.value as TemplateValue[]).map(textOf)
            : null
  if (!items) throw new TypeError('join is for lists')
  return items.join(between ? textOf(between) : '')
}

/** Returns a text with its first letter in upper case and all others in lower case. */
export function capitalized(text: string): string {
  const [first = '', ...rest] = text
  const [head = '', ...tail] = first.toUpperCase()
  return head + [...tail, ...rest].join('').toLowerCase()
}

/** White space by Python's `str.strip`. */
const isSpace = (unit: string) =>
  unit !== '\ufeff' && (/\s/.test(unit) || '\x1c\x1d\x1e\x1f\x85'.includes(unit))

/** Returns a text without these characters at its ends, or without white space there. */
export function stripped(
  text: string,
  characters: string | null,
  { left = true, right = true }: { readonly left?: boolean; readonly right?: boolean } = {},
): string {
  const units = [...text]
  const goes = (unit: string) => (characters === null ? isSpace(unit) : [...characters].includes(unit))
  let from = 0
  let to = units.length
  while (left && from < to && goes(itemAt(units, from))) from++
  while (right && to > from && goes(itemAt(units, to - 1))) to--
  return units.slice(from, to).join('')
}
