/** Numbers of JSON in chat templates with every digit, and floats as floats: the library of templates has numbers of the language alone. */
import { randomUUID } from 'node:crypto'
import { pythonNumber } from '../../exact-json.ts'

/** A number with the text that it has in JSON, as a value that passes between threads. */
export class WrittenNumber {
  readonly ' number': string

  constructor(source: string) {
    this[' number'] = source
  }
}

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Stands around a number while a template is rendered; nobody else can write it. */
const MARK = randomUUID()
const MARKED = new RegExp(`<${MARK} ([^>]*)>`, 'g')
const QUOTED = new RegExp(`"(<${MARK} [^>]*>)"`, 'g')

/** A value whose written numbers are texts that bear the mark. */
export function markNumbers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(markNumbers)
  const { ' number': source }: { ' number'?: unknown } = value
  if (typeof source === 'string' && NUMBER.test(source)) return `<${MARK} ${pythonNumber(source)}>`
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, markNumbers(inner)]))
}

/** Whether a text is such a number. */
export function isMarkedNumber(text: string): boolean {
  return text.startsWith(`<${MARK} `) && text.indexOf('>') === text.length - 1
}

/** Of JSON, in which a text has quotes and a number has none. */
export function unquoteNumbers(json: string): string {
  return json.replaceAll(QUOTED, '$1')
}

/** The rendered text, with numbers as Python writes them. */
export function withNumbers(text: string): string {
  return text.replaceAll(MARKED, '$1')
}
