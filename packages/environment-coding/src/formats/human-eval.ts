import { z } from 'zod'
import type { CodingProblem } from '../problem.ts'
import {
  assertedTests,
  DEFAULT_SECONDS,
  id,
  identifier,
  problem,
  read,
  refusal,
  runnablePrompt,
  text,
} from './record.ts'

const HUMAN_EVAL = z.looseObject({
  task_id: id,
  prompt: text.min(1),
  entry_point: identifier,
  canonical_solution: text,
  test: text.min(1),
})

export function parseHumanEval(record: unknown, place: string): CodingProblem {
  const data = read(HUMAN_EVAL, record, place)
  const [, body] = /def check\(candidate\)\s*:[^\n]*\n([\s\S]*)/.exec(data.test) ?? []
  if (body === undefined) throw refusal(place, 'test', 'there is no function check(candidate)')
  return problem({
    id: data.task_id,
    question: `Complete this function.\n\n${data.prompt}`,
    tests: assertedTests(body, `${data.test}\ncheck(candidate)\n`),
    seconds: DEFAULT_SECONDS,
    call: {
      kind: 'function',
      name: data.entry_point,
      prelude: '',
      setup: runnablePrompt(data.prompt),
      oracle: '',
    },
    solutions: [data.prompt + data.canonical_solution],
  })
}
