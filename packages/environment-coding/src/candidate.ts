/** Reads a rewritten problem out of a language model's text (rlanything 4.4). Whether it is any good, its trial tells. */

import { firstIssue, itemAt, safeParse } from 'rlanything/kit'
import { z } from 'zod'
import { TOKENS } from './compare.ts'
import { type CodingProblem, limitsOf, STDIO } from './problem.ts'

/** The reference's rule for candidates. */
const LEAST_TESTS = 4
const DEFAULT_SECONDS = 4
const MAX_SECONDS = 20
const MAX_TESTS = 32
const MAX_TEXT = 20_000

const CANDIDATE = z.object({
  question: z.string().trim().min(1).max(MAX_TEXT),
  test_method: z.literal('stdio').default('stdio'),
  test_time_limit: z.number().positive().max(MAX_SECONDS).default(DEFAULT_SECONDS),
  test_input: z.array(z.string().max(MAX_TEXT)).min(LEAST_TESTS).max(MAX_TESTS),
  test_output: z.array(z.string().max(MAX_TEXT)).min(LEAST_TESTS).max(MAX_TESTS),
})

/** The fields of a candidate: plain data for a task's recipe. */
export type CandidateFields = z.infer<typeof CANDIDATE>

export type ParsedCandidate = { readonly candidate: CandidateFields } | { readonly reason: string }

/** The last JSON object of a text that is a problem with at least four tests. */
export function parseCandidate(text: string): ParsedCandidate {
  const objects = jsonObjects(text)
  const last = objects.at(-1)
  return last === undefined ? { reason: 'there is no JSON object' } : checkCandidate(last)
}

export function checkCandidate(data: unknown): ParsedCandidate {
  const parsed = safeParse(CANDIDATE, data)
  if (!parsed.success) {
    const { path, message } = firstIssue(parsed.error)
    return { reason: `${path.join('.') || 'the object'}: ${message}` }
  }
  const { test_input: inputs, test_output: outputs } = parsed.data
  if (inputs.length !== outputs.length)
    return { reason: `${inputs.length} inputs and ${outputs.length} outputs` }
  const telling = inputs.filter((input, i) =>
    [input, itemAt(outputs, i)].every((one) => one.trim() !== ''),
  ).length
  if (telling < LEAST_TESTS) return { reason: `only ${telling} tests have both an input and an output` }
  return { candidate: parsed.data }
}

export function candidateProblem(id: string, fields: CandidateFields): CodingProblem {
  return {
    id,
    question: fields.question,
    tests: fields.test_input.map((input, i) => ({ input, output: itemAt(fields.test_output, i) })),
    examples: [],
    limits: limitsOf(fields.test_time_limit),
    comparator: TOKENS,
    call: STDIO,
    solutions: [],
    split: null,
  }
}

const MAX_STARTS = 200

/** All top-level objects of a text that parse, in order. */
function jsonObjects(text: string): unknown[] {
  const found: unknown[] = []
  let starts = 0
  for (let at = text.indexOf('{'); at >= 0 && starts < MAX_STARTS; at = text.indexOf('{', at)) {
    starts++
    const end = endOfObject(text, at)
    const value = end < 0 ? undefined : parse(text.slice(at, end))
    if (value !== undefined) found.push(value)
    at = value === undefined ? at + 1 : end
  }
  return found
}

/**
 * Returns the place after the brace that closes the one at `start`, ignoring strings. Returns -1 if none
 * closes it.
 */
function endOfObject(text: string, start: number): number {
  let depth = 0
  let quoted = false
  for (let i = start; i < text.length; i++) {
    const character = text[i]
    if (quoted) {
      if (character === '\\') i++
      else if (character === '"') quoted = false
    } else if (character === '"') quoted = true
    else if (character === '{') depth++
    else if (character === '}' && --depth === 0) return i + 1
  }
  return -1
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
