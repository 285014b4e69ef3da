/** Guards how a user's setting is judged: by words for steps, or by tests of programs. */
import { z } from 'zod'
import { brief, type Check, callEither, shape } from '../user-code.ts'
import { flattened } from '../user-module.ts'
import { causeWords } from './causes.ts'
import type { Setting } from './setting.ts'
import { type Ask, demonstration, line, string, words } from './user-ask.ts'
import { kindOf } from './user-checks.ts'
import { aboutTask, callOf, limitOf, type Theirs } from './user-environment.ts'

const testCase = z.looseObject({ input: words, output: words })
const parsedTest = z.union([z.looseObject({ test: testCase }), z.looseObject({ reason: line })])
const testRuns = z.array(z.array(z.looseObject({ passed: z.boolean(), fault: line })))

export function guardedJudging(
  judging: NonNullable<Setting['judging']>,
  ask: Ask,
  theirs: Theirs,
): Setting['judging'] {
  return judging.by === 'steps' ? stepJudging(ask, judging) : testJudging(ask, theirs, judging)
}

function stepJudging(ask: Ask, judging: Extract<Setting['judging'], { by: 'steps' }>): Setting['judging'] {
  const { causes } = judging
  const known = new Set(causeWords(causes))
  const check: Check = (word) =>
    known.has(word as string) ? null : `: ${kindOf(word)} '${word}' is none of ${[...known].join(', ')}`
  const wordFor = ask(causes.wordFor.bind(causes), 'judging.causes.wordFor', { atOnce: true, check })
  return { ...flattened(judging), causes: { ...flattened(causes), wordFor } }
}

function testJudging(
  ask: Ask,
  theirs: Theirs,
  judging: Extract<Setting['judging'], { by: 'tests' }>,
): Setting['judging'] {
  const own = flattened(judging)
  const lessons = own.lessons && flattened(own.lessons)
  const run = own.run
  return {
    ...own,
    describe: ask(own.describe, 'judging.describe', { check: string }),
    ...(own.form ? { form: ask(own.form, 'judging.form', { check: string }) } : {}),
    read: (environment, answer, task) => {
      const call = callOf(theirs, `judging.read('${brief(answer)}')`, [aboutTask(task)])
      const asked = () => own.read(environment, answer, task)
      return callEither(call, limitOf(environment), asked, shape(parsedTest))
    },
    ...(own.isNovel ? { isNovel: ask(own.isNovel, 'judging.isNovel', { check: shape(z.boolean()) }) } : {}),
    run: (environment, task, actions, tests) =>
      ask(run, 'judging.run', { check: runsCheck(actions.length, tests.length), isLong: true })(
        environment,
        task,
        actions,
        tests,
      ),
    ...(own.scripted ? { scripted: ask(own.scripted, 'judging.scripted', { check: string }) } : {}),
    ...(lessons
      ? {
          lessons: {
            ...lessons,
            question: ask(lessons.question, 'judging.lessons.question', { check: string }),
            tests: ask(lessons.tests, 'judging.lessons.tests', { check: shape(z.array(testCase)) }),
            demonstrate: ask(lessons.demonstrate, 'judging.lessons.demonstrate', {
              check: shape(demonstration),
            }),
          },
        }
      : {}),
  }
}

function runsCheck(actions: number, tests: number): Check {
  const rows = shape(testRuns)
  return (value) => {
    const wrong = rows(value)
    if (wrong !== null) return wrong
    const runs = value as readonly (readonly unknown[])[]
    if (runs.length !== actions) return `: expected ${actions} rows, one an action, and got ${runs.length}`
    for (const [i, row] of runs.entries())
      if (row.length !== tests) return `[${i}]: expected ${tests} runs, one a test, and got ${row.length}`
    return null
  }
}
