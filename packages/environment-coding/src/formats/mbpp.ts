import { itemAt } from 'rlanything/kit'
import { z } from 'zod'
import type { CodingProblem } from '../problem.ts'
import { namesCalled } from '../python-names.ts'
import { assertedTests, DEFAULT_SECONDS, id, problem, read, refusal, text, texts } from './record.ts'

const MBPP = z.looseObject({
  task_id: id,
  text: text.min(1).optional(),
  prompt: text.min(1).optional(),
  code: text,
  test_list: texts.min(1),
  test_setup_code: text.nullish(),
  test_imports: texts.optional(),
})

export function parseMbpp(record: unknown, place: string): CodingProblem {
  const data = read(MBPP, record, place)
  const question = data.prompt ?? data.text
  if (question === undefined) throw refusal(place, 'text', 'there is no question')
  const setup = [data.test_setup_code ?? '', ...(data.test_imports ?? [])].filter(Boolean).join('\n')
  const shown = itemAt(data.test_list, 0)
  const name = calledName(data.code, shown)
  if (name === null) throw refusal(place, 'test_list', 'the tests call nothing that the code defines')
  const classes = [...data.code.matchAll(/^class\s+(\w+)/gm)].map((found) => itemAt(found, 1))
  const called = new Set([setup, ...data.test_list].flatMap(namesCalled).map(({ name }) => name))
  const made = classes.find((one) => called.has(one))
  if (made)
    throw refusal(place, 'test_list', `the tests make objects of the class ${made}, which the code defines`)
  return problem({
    id: `mbpp/${data.task_id}`,
    question: `${question}\n\nYour code should pass this test:\n${shown}`,
    tests: data.test_list.flatMap((source) => assertedTests(source)),
    seconds: DEFAULT_SECONDS,
    call: { kind: 'function', name, prelude: '', setup, oracle: '' },
    solutions: [data.code],
  })
}

/**
 * Returns the name that the code defines and the test calls. Of several it is the last, which builds on the
 * others.
 */
function calledName(code: string, test: string): string | null {
  const defined = [...code.matchAll(/^(?:def\s+(\w+)|(\w+)\s*=)/gm)].flatMap(([, a, b]) => a ?? b ?? [])
  const called = new Set(namesCalled(test).map(({ name }) => name))
  return defined.findLast((name) => called.has(name)) ?? null
}
