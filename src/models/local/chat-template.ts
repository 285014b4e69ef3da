/** Chat templates, rendered as transformers' Jinja does. Our own functions replace those that the template library reads in another way. */

import { Template } from '@huggingface/jinja'
import { itemAt } from '../../item-at.ts'
import { capitalized, renderTemplate, stripped } from './template-interpreter.ts'
import { markNumbers, unquoteNumbers, withNumbers } from './written-numbers.ts'

export type ChatTemplate = { readonly render: (variables: Readonly<Record<string, unknown>>) => string }

/** @throws Error if the text is no template, or uses a feature that would be rendered in another way */
export function chatTemplate(text: string): ChatTemplate {
  // Jinja unifies line ends before anything else.
  const template = new Template(text.replaceAll(/\r\n?/g, '\n'))
  rewrite(template.parsed)
  return {
    render: (variables) =>
      withNumbers(renderTemplate(template.parsed, markNumbers(variables) as Record<string, unknown>, OURS)),
  }
}

/** Removes characters, or white space, from the ends of a text. */
const strip =
  (name: string, ends: { readonly left: boolean; readonly right: boolean }) =>
  (text: unknown, characters: unknown = null): string => {
    if (typeof text !== 'string') throw new TypeError(`${name} is only for texts`)
    if (characters !== null && typeof characters !== 'string')
      throw new TypeError(`${name} takes characters alone`)
    return stripped(text, characters, ends)
  }

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
)
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')
const two = (value: number) => String(value).padStart(2, '0')

/** Python's `strftime` of the local time, always in English. */
function strftimeNow(format: unknown): string {
  const now = new Date()
  const hour = now.getHours() % 12 || 12
  const [day, month] = [itemAt(DAYS, now.getDay()), itemAt(MONTHS, now.getMonth())]
  const parts: Readonly<Record<string, string | number>> = {
    a: day.slice(0, 3),
    A: day,
    w: now.getDay(),
    b: month.slice(0, 3),
    B: month,
    d: two(now.getDate()),
    '-d': now.getDate(),
    m: two(now.getMonth() + 1),
    '-m': now.getMonth() + 1,
    y: two(now.getFullYear() % 100),
    Y: now.getFullYear(),
    H: two(now.getHours()),
    '-H': now.getHours(),
    I: two(hour),
    '-I': hour,
    M: two(now.getMinutes()),
    S: two(now.getSeconds()),
    p: now.getHours() < 12 ? 'AM' : 'PM',
    '%': '%',
  }
  return String(format).replaceAll(/%(-?[A-Za-z]|%)/g, (all, part: string) => {
    if (!Object.hasOwn(parts, part)) throw new Error(`strftime_now's ${all} is not implemented`)
    return String(parts[part])
  })
}

function capitalize(text: unknown): string {
  if (typeof text !== 'string') throw new TypeError('capitalize is only for texts')
  return capitalized(text)
}

/** Python's `==`: lists and dictionaries are compared by their content, and a text never equals a number. */
function isEqual(one: unknown, other: unknown): boolean {
  type Held = { readonly value: unknown }
  if (one instanceof Map && other instanceof Map)
    return (
      one.size === other.size &&
      [...one].every(([key, { value }]) => other.has(key) && isEqual(value, (other.get(key) as Held).value))
    )
  if (Array.isArray(one) && Array.isArray(other))
    return (
      one.length === other.length &&
      one.every(({ value }: Held, i) => isEqual(value, (other[i] as Held).value))
    )
  const number = (value: unknown) => (typeof value === 'boolean' ? Number(value) : value)
  return number(one) === number(other)
}

/** Our functions have names that no template has: the library does not allow its own names to be declared anew. */
const OURS = {
  ' strip': strip('strip', { left: true, right: true }),
  ' lstrip': strip('lstrip', { left: true, right: false }),
  ' rstrip': strip('rstrip', { left: false, right: true }),
  ' capitalize': capitalize,
  ' strftime_now': strftimeNow,
  ' unquoted': (json: unknown) => unquoteNumbers(String(json)),
  ' ==': isEqual,
  ' !=': (one: unknown, other: unknown) => !isEqual(one, other),
}
const METHODS = ['strip', 'lstrip', 'rstrip', 'capitalize']

type Node = { type: string; [part: string]: unknown }

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
const call = (name: string, args: readonly unknown[]): Node => ({
  type: 'CallExpression',
  callee: { type: 'Identifier', value: ` ${name}` },
  args,
})

/** Replaces calls of the library's functions by calls of ours, in place. */
function rewrite(value: unknown): unknown {
  if (Array.isArray(value)) {
    for (const [i, one] of value.entries()) value[i] = rewrite(one)
    return value
  }
  if (value instanceof Map) {
    for (const [key, one] of value) value.set(key, rewrite(one))
    return value
  }
  if (!isNode(value)) return value
  for (const [part, inner] of Object.entries(value)) value[part] = rewrite(inner)
  if (value.type === 'CallExpression') return ourCall(value)
  if (value.type === 'BinaryExpression') return ourComparison(value)
  return value.type === 'FilterExpression' ? ourFilter(value) : value
}

function ourCall(node: Node): Node {
  const callee = node.callee as Node
  const args = node.args as readonly unknown[]
  if (callee.type === 'Identifier' && callee.value === 'strftime_now') return call('strftime_now', args)
  if (callee.type !== 'MemberExpression' || callee.computed) return node
  const name = (callee.property as Node).value as string
  refuseTitle(name)
  return METHODS.includes(name) ? call(name, [callee.object, ...args]) : node
}

function ourComparison(node: Node): Node {
  const { value } = node.operator as { readonly value: string }
  return value === '==' || value === '!=' ? call(value, [node.left, node.right]) : node
}

function ourFilter(node: Node): Node {
  const filter = node.filter as Node
  const named = filter.type === 'CallExpression' ? (filter.callee as Node) : filter
  const name = named.value as string
  refuseTitle(name)
  return name === 'tojson' ? call('unquoted', [node]) : node
}

/** Python's `title` and Jinja's filter differ from each other and from the library's. */
function refuseTitle(name: string): void {
  if (name === 'title') throw new Error('title is not implemented')
}
