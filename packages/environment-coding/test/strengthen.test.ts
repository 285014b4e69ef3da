/** Problems with weak tests get further ones, which right programs pass and mutants fail. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { seedOf, type Task } from 'rlanything/environments'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { TOKENS } from '../src/compare.ts'
import { codingEnvironment } from '../src/environment.ts'
import { createExecutor, type Executor } from '../src/executor.ts'
import { type CodingProblem, STDIO } from '../src/problem.ts'
import { DEFAULT_LIMITS } from '../src/provider.ts'
import { furtherTests, otherInputs } from '../src/strengthen.ts'
import { openProvider } from './sandboxes.ts'

const provider = await openProvider('bwrap')
const executor: Executor | null = provider && createExecutor({ provider })
test.after(() => executor?.close())

const inputs = (...list: readonly string[]) => list.map((input) => ({ input, output: 'x\n' }))
const problem: CodingProblem = {
  id: 'weak',
  question: 'Print how many of the numbers are at least 5.',
  examples: [],
  tests: [
    { input: '3\n9 9 9\n', output: '3\n' },
    { input: '4\n1 0 0 1\n', output: '0\n' },
  ],
  limits: { ...DEFAULT_LIMITS, cpuMs: 1000 },
  comparator: TOKENS,
  call: STDIO,
  solutions: [
    'n = int(input())\nnumbers = list(map(int, input().split()))\nprint(sum(1 for x in numbers if x >= 5))\n',
    'input()\nprint(len([x for x in input().split() if int(x) >= 5]))\n',
  ],
  split: null,
}

test('weak tests get further ones until few enough mutants pass; the same each time', async () => {
  if (!executor) return
  const strength = await furtherTests(executor, problem, 0.1, 1)
  assert.ok(strength.survivors > 0.1 * strength.mutants, JSON.stringify(strength))
  assert.ok(strength.left < strength.survivors, JSON.stringify(strength))
  assert.ok(strength.tests.length > 0 && strength.tests.length <= 16)
  assert.equal(await furtherTests(executor, problem, 0.1, 1), strength)
  for (const { input, output } of strength.tests) {
    const [, count, row] = /^(\d+)\n([\d ]+)\n$/.exec(input) ?? assert.unreachable(input) ?? []
    const numbers = row.split(' ').map(Number)
    assert.is(numbers.length, Number(count), 'the number of numbers stays true')
    assert.ok(
      numbers.every((one) => one >= 0 && one <= 9),
      'within what the tests show',
    )
    assert.is(Number(output), numbers.filter((one) => one >= 5).length)
  }
})

test('solutions that disagree, or of which there is none, give no tests', async () => {
  if (!executor) return
  const disagreeing = { ...problem, solutions: [problem.solutions[0], 'input()\nprint(input())\n'] }
  assert.equal((await furtherTests(executor, disagreeing, 0, 1)).tests, [])
  assert.equal(await furtherTests(executor, { ...problem, solutions: [] }, 0, 1), {
    ...{ mutants: 0, survivors: 0, left: 0, tests: [] },
  })
})

test('inputs keep their form: lines, words and counts stay, numbers stay within those that were seen', () => {
  const numbers = fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 2, maxLength: 6 })
  fc.assert(
    fc.property(fc.array(numbers, { minLength: 2, maxLength: 5 }), fc.nat(), (rows, seed) => {
      const tests = inputs(...rows.map((row) => `${row.length} name\n${row.join(' ')}\n`))
      for (const input of otherInputs({ ...problem, tests }, seedOf(seed))) {
        const [head, body, rest] = input.split('\n')
        const words = body.split(' ').map(Number)
        assert.is(rest, '')
        // Where every row has the same length, nothing says that the first number counts.
        if (new Set(rows.map((row) => row.length)).size > 1) assert.is(head, `${words.length} name`)
        assert.ok(words.every((word) => word >= -50 && word <= 50))
      }
    }),
    { numRuns: 200 },
  )
})

test('environment.coding.strengthen stores the tests with the task, whose problem then has them', async () => {
  if (!executor) return
  const folder = mkdtempSync(join(tmpdir(), 'rl-strengthen-'))
  const file = join(folder, 'problems.jsonl')
  const { id, question, tests, solutions } = problem
  const fields = {
    test_input: tests.map(({ input }) => input),
    test_output: tests.map(({ output }) => output),
    solutions,
  }
  writeFileSync(file, `${JSON.stringify({ id, question, ...fields })}\n`)
  const source = { kind: 'files', paths: [file] } as const
  const environment = codingEnvironment({ source, executor, strengthen: { most: 0.1, seed: 1 } })
  const [task] = JSON.parse(JSON.stringify(await environment.tasks('train'))) as Task[]
  const [plain] = await codingEnvironment({ source, executor }).tasks('train')
  assert.equal({ ...task, recipe: plain.recipe }, plain)
  const again = codingEnvironment({ source, executor })
  assert.is((await again.problem(plain)).tests.length, 2)
  assert.ok((await again.problem(task)).tests.length > 2, 'the task brings its tests along')
  assert.equal(await again.validate(task), { ok: true })
  for (const further of [[{ input: 1, output: '' }], 'tests', [{ input: 'a' }]])
    try {
      await again.problem({ ...task, recipe: { ...task.recipe, further } })
      assert.unreachable()
    } catch (error) {
      assert.match((error as Error).message, 'further tests')
    }
  rmSync(folder, { recursive: true })
})

test('a generated problem keeps its recipe beside them, and is rewritten without them', async () => {
  if (!executor) return
  const counts = { train: 2, 'in-domain': 2, ood: 2 }
  const environment = codingEnvironment({
    source: { kind: 'generated', seed: 1, counts, maxLevel: 4 },
    executor,
  })
  const [plain] = await environment.tasks('train')
  const before = await environment.problem(plain)
  const task = { ...plain, recipe: { ...plain.recipe, further: [before.examples[0]] } }
  assert.equal((await environment.problem(task)).tests, [...before.tests, before.examples[0]])
  const request = { direction: 'harder', accuracy: 1, critique: '', taken: [], seed: seedOf(3) } as const
  const rewritten = await environment.rewrite({ task, ...request })
  assert.ok('task' in rewritten && !('further' in rewritten.task.recipe))
})

test.run()
