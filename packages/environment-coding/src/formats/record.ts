/** Common parts of the formats: checked fields, packed values, and the problem made of them. */

import { inflateSync } from 'node:zlib'
import { firstIssue, itemAt, parseExact, RlError, safeParse, textOf } from 'rlanything/kit'
import { z } from 'zod'
import { TOKENS } from '../compare.ts'
import { PICKLE, readPickledText } from '../pickled-text.ts'
import { type CodingProblem, limitsOf, STDIO, type TestCase } from '../problem.ts'
import { DEFAULT_LIMITS } from '../provider.ts'
import { splitAssertions } from '../python-assertions.ts'

/** Seconds for a problem that names no limit: the reference's executor default. */
export const DEFAULT_SECONDS = 4
export const MAX_SECONDS = 120
const MAX_UNPACKED_BYTES = 1 << 28

export const text = z.string()
export const texts = z.array(text)
export const identifier = text.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected a Python name')
export const seconds = z.number().positive().max(MAX_SECONDS)
export const id = z.union([text.min(1), z.number()]).transform(String)

type Draft = Pick<CodingProblem, 'id' | 'question' | 'tests'> &
  Partial<CodingProblem> & { readonly seconds: number; readonly memoryMB?: number }

export function problem({ seconds, memoryMB = DEFAULT_LIMITS.memoryMB, ...draft }: Draft): CodingProblem {
  return {
    id: draft.id,
    question: draft.question,
    tests: draft.tests.map(({ input, output }) => ({ input, output })),
    examples: (draft.examples ?? []).map(({ input, output }) => ({ input, output })),
    limits: { ...limitsOf(seconds, memoryMB), outputBytes: outputLimit(draft.tests) },
    comparator: draft.comparator ?? TOKENS,
    call: draft.call ?? STDIO,
    solutions: draft.solutions ?? [],
    split: draft.split ?? null,
  }
}

/** A right program may print more white space than expected, or values whose text is longer. */
function outputLimit(tests: readonly TestCase[]): number {
  const longest = tests.reduce((most, { output }) => Math.max(most, Buffer.byteLength(output)), 0)
  return Math.max(DEFAULT_LIMITS.outputBytes, 4 * longest)
}

export function pairs(
  inputs: readonly string[],
  outputs: readonly string[],
  place: string,
  key: string,
): TestCase[] {
  if (inputs.length !== outputs.length)
    throw refusal(place, key, `${inputs.length} inputs and ${outputs.length} outputs`)
  return inputs.map((input, i) => ({ input, output: itemAt(outputs, i) }))
}

export function read<T>(schema: z.ZodType<T>, record: unknown, place: string, under?: string): T {
  const parsed = safeParse(schema, record)
  if (parsed.success) return parsed.data
  const { path, message } = firstIssue(parsed.error)
  throw refusal(place, [under, ...path].filter((part) => part !== undefined).join('.'), message)
}

export function refusal(place: string, key: string, message: string, hint?: string): RlError {
  return new RlError(`${place}: ${key}: ${message}`, {
    code: 'coding.dataset',
    hint: hint ?? 'correct the record or leave it out',
  })
}

/** A value, JSON text of it, or the base64 of that text deflated, pickled or not. */
export function unpackJson(value: unknown, place: string, key: string): unknown {
  if (typeof value !== 'string') return value
  const plain = value.trim()
  if (plain.startsWith('[') || plain.startsWith('{')) return parse(plain, place, key)
  let bytes: Buffer
  try {
    bytes = inflateSync(Buffer.from(plain, 'base64'), { maxOutputLength: MAX_UNPACKED_BYTES })
  } catch (cause) {
    throw refusal(place, key, `neither JSON nor base64 of deflated JSON (${(cause as Error).message})`)
  }
  if (bytes[0] !== PICKLE) return parse(textOf(bytes, `${place}: ${key}`), place, key)
  const text = readPickledText(bytes)
  if (text === null) throw refusal(place, key, 'holds a Python pickle of something else than a text')
  return parse(text, place, key)
}

function parse(json: string, place: string, key: string): unknown {
  try {
    return parseExact(json)
  } catch (cause) {
    throw refusal(place, key, `not JSON (${(cause as Error).message})`)
  }
}

/** Makes a test of each plain assertion. Other code becomes one test. */
export function assertedTests(source: string, whole = source): readonly TestCase[] {
  const { tests, refused } = splitAssertions(source)
  return refused === null ? tests : [{ input: whole, output: 'True' }]
}

/** Completes a prompt. A prompt that ends with a docstring is a program already, any other needs a body. */
export const runnablePrompt = (prompt: string) => `${prompt.trimEnd()}\n    pass\n`
