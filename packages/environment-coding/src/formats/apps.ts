import { safeParse, exactText as textOf } from 'rlanything/kit'
import { z } from 'zod'
import { APPS_PRELUDE } from '../function-tests.ts'
import type { CodingProblem } from '../problem.ts'
import {
  DEFAULT_SECONDS,
  id,
  identifier,
  MAX_SECONDS,
  pairs,
  problem,
  read,
  text,
  unpackJson,
} from './record.ts'

/** APPS and TACO: tests and solutions are JSON texts in the record. */
const APPS = z.looseObject({
  problem_id: id.optional(),
  id: id.optional(),
  name: text.nullish(),
  question: text.min(1),
  input_output: z.unknown(),
  solutions: z.unknown().optional(),
  starter_code: text.nullish(),
  time_limit: z.union([z.number(), text]).nullish(),
})

const INPUT_OUTPUT = z.looseObject({
  inputs: z.array(z.unknown()),
  outputs: z.array(z.unknown()),
  fn_name: identifier.nullish(),
})

export function parseApps(record: unknown, place: string): CodingProblem {
  const data = read(APPS, record, place)
  const {
    inputs,
    outputs,
    fn_name: name,
  } = read(INPUT_OUTPUT, unpackJson(data.input_output, place, 'input_output'), place, 'input_output')
  const isCall = typeof name === 'string'
  const wrapped =
    isCall && outputs.length > 0 && outputs.every((one) => Array.isArray(one) && one.length === 1)
  const values = wrapped ? outputs.flat() : outputs
  const tests = pairs(
    inputs.map((input) => (isCall ? argumentLines(input) : linesOf(input))),
    values.map((value) => (isCall ? JSON.stringify(value) : linesOf(value))),
    place,
    'input_output',
  )
  const solutions = safeParse(z.array(text), unpackJson(data.solutions || '[]', place, 'solutions'))
  const limit = Number.parseFloat(String(data.time_limit ?? ''))
  return problem({
    id: data.problem_id ?? data.id ?? (data.name || place),
    question: data.starter_code ? `${data.question}\n\n${data.starter_code}` : data.question,
    tests,
    seconds: limit > 0 ? Math.min(limit, MAX_SECONDS) : DEFAULT_SECONDS,
    // numpy's allclose, which their harness asks.
    comparator: { kind: 'float', absolute: 1e-8, relative: 1e-5 },
    call: isCall
      ? { kind: 'json', name, prelude: APPS_PRELUDE, ...(wrapped ? { wrapped } : {}) }
      : { kind: 'stdio', prelude: APPS_PRELUDE },
    solutions: solutions.data ?? [],
  })
}

/** Texts, or lists of lines. */
const linesOf = (value: unknown) =>
  Array.isArray(value) ? `${value.map(textOf).join('\n')}\n` : textOf(value)

const argumentLines = (args: unknown) =>
  (Array.isArray(args) ? args : [args]).map((one) => JSON.stringify(one)).join('\n')
