/** The record formats of public problem sets, each turned into a CodingProblem. */
import { RlError, rounded } from 'rlanything/kit'
import { parseApps } from './formats/apps.ts'
import { parseCodeContests } from './formats/code-contests.ts'
import { parseEvalPlus } from './formats/eval-plus.ts'
import { parseHumanEval } from './formats/human-eval.ts'
import { parseLive } from './formats/live-code-bench.ts'
import { parseMbpp } from './formats/mbpp.ts'
import { refusal } from './formats/record.ts'
import { parseReference } from './formats/reference.ts'
import type { CodingProblem, TestCase } from './problem.ts'

type Format = {
  /** A record is of the first format all of whose keys it has. */
  readonly keys: readonly string[]
  readonly parse: (record: unknown, place: string) => CodingProblem
}

const FORMATS: readonly Format[] = [
  { keys: ['test_input', 'test_output'], parse: parseReference },
  { keys: ['description', 'public_tests'], parse: parseCodeContests },
  { keys: ['question_id', 'public_test_cases'], parse: parseLive },
  { keys: ['base_input', 'plus_input', 'entry_point'], parse: parseEvalPlus },
  { keys: ['question', 'input_output'], parse: parseApps },
  { keys: ['test_list', 'code'], parse: parseMbpp },
  { keys: ['entry_point', 'canonical_solution', 'test'], parse: parseHumanEval },
]

/** Values of tests, whose numbers keep their text. */
const EXACT = new Set(['base_input', 'plus_input', 'input_output'])

/** An empty text is a value of standard input and output, but no value of a function. */
function isJson({ input, output }: TestCase): boolean {
  try {
    for (const text of [...input.split('\n').filter((line) => line.trim() !== ''), output]) JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/**
 * Reads a record (of `parseExact`, if its numbers count) as a problem.
 * @throws RlError that names the place and the key
 */
export function parseRecord(record: unknown, place: string): CodingProblem {
  if (typeof record !== 'object' || record === null || Array.isArray(record))
    throw new RlError(`${place}: expected a JSON object`, { code: 'coding.dataset' })
  const format = FORMATS.find(({ keys }) => keys.every((key) => Object.hasOwn(record, key)))
  if (format)
    try {
      const fields = Object.entries(record).map(([key, value]) => [
        key,
        EXACT.has(key) ? value : rounded(value),
      ])
      const problem = format.parse(Object.fromEntries(fields), place)
      if (problem.tests.length === 0) throw refusal(place, 'tests', 'there are none')
      const other = problem.call.kind === 'json' ? problem.tests.findIndex((test) => !isJson(test)) : -1
      if (other < 0) return problem
      throw refusal(place, `test ${other + 1}`, 'an argument or the value is no JSON')
    } catch (cause) {
      if (cause instanceof RangeError)
        throw new RlError(`${place}: nested too deep`, {
          code: 'coding.dataset',
          hint: 'correct the record or leave it out',
          cause,
        })
      throw cause
    }
  throw new RlError(
    `${place}: no known format has the keys ${Object.keys(record).slice(0, 12).join(', ') || '(none)'}`,
    {
      code: 'coding.dataset',
      hint: `known are ${FORMATS.map(({ keys }) => keys.join(' + ')).join('; ')}`,
    },
  )
}
