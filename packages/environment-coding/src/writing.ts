/**
 * How programs and unit tests are written: by models that read prompts, by small models that are taught, and
 * by scripts.
 */

import { rng, seedOf, type TestJudging, type Texts } from 'rlanything/environments'
import { itemAt, RlError } from 'rlanything/kit'
import type { CodingEnvironment, CodingEpisode } from './environment.ts'
import { compactProblem, scriptedUnitTest } from './family/unit-test.ts'
import type { Grade } from './grade.ts'
import { parseProgram } from './parse.ts'
import type { CodingProblem, TestCase } from './problem.ts'
import { promptFile } from './prompt-file.ts'
import { LANGUAGES } from './provider.ts'
import { type Fault, scriptedProgram } from './scripted.ts'
import { isNovel, testForm } from './test-form.ts'

/** Faults that a word-level model can write, and that cost no time to run. */
const FAULTS: readonly Fault[] = ['other-constant', 'other-operator', 'other-function', 'extra-output']
/** Weight of an example among the tests to imitate. Any other test has weight 1. */
const EXAMPLE_WEIGHT = 24

export const acting: Texts<CodingEnvironment> = {
  kind: 'texts',
  prompt: promptFile('coding-policy'),
  invalid(answer) {
    const parsed = LANGUAGES.map((language) => parseProgram(answer, language))
    if (parsed.some((one) => 'program' in one)) return null
    return parsed.flatMap((one) => ('reason' in one ? one.reason : [])).at(0) ?? null
  },
  tested: ({ tested }: CodingEpisode) => tested ?? null,
  /** Returns a reference solution, or a copy of one with one fault. */
  async scripted(environment, task, skill, seed) {
    const problem = await environment.problem(task)
    if (problem.solutions.length === 0)
      throw new RlError(`the problem '${problem.id}' has no reference solution`, {
        code: 'coding.no-solution',
        hint: 'the scripted policy needs one for every problem; use another policy.provider',
      })
    return `\`\`\`python\n${scriptedProgram(problem, skill, seed)}\n\`\`\``
  },
  lessons: {
    version: 1,
    words: (environment) => environment.words(),
    async demonstrate(environment, task, noise, seed) {
      const problem = await environment.problem(task)
      return { question: problem.question, answer: scriptedProgram(problem, 1 - noise, seed, FAULTS) }
    },
  },
}

export const judging: TestJudging<CodingEnvironment> = {
  by: 'tests',
  prompt: promptFile('coding-test'),
  describe: (environment, task) => environment.describe(task),
  form: async (environment, task) => testForm((await environment.problem(task)).call).asks,
  read: (environment, answer, task) => environment.readTest(task, answer),
  isNovel: async (environment, task, test) => isNovel(await environment.problem(task), test),
  async run(environment, task, actions, tests) {
    const grades = await environment.runTests(task, actions, tests)
    return grades.map((row) => row.map((grade, i) => runOf(itemAt(tests, i), grade)))
  },
  /** The problem's own tests, right or with a fault. */
  async scripted(environment, task, skill, seed) {
    return scriptedUnitTest(testsOf(await environment.problem(task)), skill, seed)
  },
  lessons: {
    version: 1,
    question: async (environment, task) => compactProblem(await environment.problem(task)),
    tests: async (environment, task) => testsOf(await environment.problem(task)),
    async demonstrate(environment, task, noise, seed) {
      const problem = await environment.problem(task)
      // Examples differ each time a problem comes up, so they cannot be learned by heart.
      const all = rng(seedOf(seed, 'examples')).shuffle(testsOf(problem))
      const examples = all.slice(0, problem.examples.length)
      const shown = Array.from({ length: EXAMPLE_WEIGHT - 1 }, () => examples).flat()
      return {
        question: compactProblem({ question: problem.question, examples }),
        answer: scriptedUnitTest([...shown, ...all], 1 - noise, seed),
      }
    },
  },
}

const testsOf = ({ examples, tests }: CodingProblem): readonly TestCase[] => [...examples, ...tests]

function runOf(test: TestCase, { passed, result }: Grade) {
  if (passed === true) return { passed: true, fault: '' }
  const did = result.verdict === 'ok' ? `printed ${oneLine(result.stdout)}` : `ended with ${result.verdict}`
  return {
    passed: false,
    fault: `on input ${oneLine(test.input)} it ${did}, expected ${oneLine(test.output)}`,
  }
}

/** Most characters that a fault shows of a text. */
const SHOWN = 60

function oneLine(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > SHOWN ? `${line.slice(0, SHOWN)}...` : line === '' ? 'nothing' : line
}
