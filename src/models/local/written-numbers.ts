/**
 * Numbers of JSON in chat templates. They keep every digit, and floats stay floats. The library of templates has only
 * JavaScript's numbers.
 */
import { randomUUID } from 'node:crypto'
import { pythonNumber } from '../../exact-json.ts'

/** A number with its text in JSON, as a value that passes between threads. */
export class WrittenNumber {
  readonly ' number': string

  constructor(source: string) {
    this[' number'] = source
  }
}

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Mark around a number while a template is rendered. Nobody else can write it. */
const MARK = randomUUID()
const MARKED = new RegExp(`<${MARK} ([^>]*)>`, 'g')
const QUOTED = new RegExp(`"(<${MARK} [^>]*>)"`, 'g')

/** Replaces written numbers in a value by marked texts. */
export function markNumbers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(markNumbers)
  const { ' number': source }: { ' number'?: unknown } = value
  if (typeof source === 'string' && NUMBER.test(source)) return `<${MARK} ${pythonNumber(source)}>`
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, markNumbers(inner)]))
}

/** Returns whether a text is a marked number. */
export function isMarkedNumber(text: string): boolean {
  return text.startsWith(`<${MARK} `) && text.indexOf('>') === text.length - 1
}

/** Removes the quotes around marked numbers in JSON. */
export function unquoteNumbers(json: string): string {
  return json.replaceAll(QUOTED, '$1')
}

/** Returns the rendered text, with numbers as Python writes them. */
export function withNumbers(text: string): string {
  return text.replaceAll(MARKED, '$1')
}
