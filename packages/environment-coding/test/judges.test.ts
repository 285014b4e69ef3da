/** Checkers, interactors and the code of tests: what they say is a verdict, what fails in them is none. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor, type Executor } from '../src/executor.ts'
import { parseRecord } from '../src/formats.ts'
import { type Grade, grade } from '../src/grade.ts'
import type { CodingProblem, TestCase } from '../src/problem.ts'
import { openProvider } from './sandboxes.ts'

const provider = await openProvider('bwrap')
const executor = provider && createExecutor({ provider })
test.after(() => executor?.close())

function here(name: string, body: (executor: Executor) => Promise<void>): void {
  test(name, async () => {
    if (executor) await body(executor)
  })
}

const checkedBy = (program: string, output = '7', input = '1\n', seconds = 1): CodingProblem =>
  parseRecord(
    {
      ...{ id: 'c', question: 'q', test_input: [input], test_output: [output], test_time_limit: seconds },
      comparator: { kind: 'checker', program },
    },
    'here',
  )

async function gradeOf(
  on: Executor,
  problem: CodingProblem,
  program: string,
  tests = problem.tests,
): Promise<Grade> {
  const [[one]] = await grade(on, [{ problem, program, tests }])
  return one
}

const READ = "import json, sys\ntold = json.loads(input())\noutput = told['output'].strip()\n"

here('a checker has the time and the memory that it needs, whatever the program may use', async (on) => {
  const slow = `${READ}x = 0\nfor i in range(12_000_000): x += i\nheld = bytearray(600 << 20)\nsys.exit(output != '7')`
  const problem = checkedBy(slow, '7', '1\n', 0.2)
  assert.is((await gradeOf(on, problem, 'print(7)')).passed, true)
  assert.is((await gradeOf(on, problem, 'print(8)')).passed, false)
})

here('a checker that fails gives no verdict, and is told', async (on) => {
  for (const [checker, reason] of [
    [`${READ}told['outputs']`, /KeyError/],
    ['import no_such_module', /ModuleNotFoundError/],
    ['while True: pass', /timeout/],
    ['x = []\nwhile True: x.append(bytearray(1 << 24))', /memory|MemoryError/],
    ['not a program', /SyntaxError/],
    ['import os\nos.kill(os.getpid(), 9)\nos.abort()', /checker failed/],
  ] as const) {
    const { passed, judgeFailed, result } = await gradeOf(on, checkedBy(checker), 'print(7)')
    assert.is(passed, null, checker)
    assert.is(judgeFailed, true)
    assert.match(result.stderrTail, reason)
  }
})

here('a checker refuses by its exit code, by an assertion, and by what it alone cannot read', async (on) => {
  for (const refusal of ["sys.exit('no')", 'sys.exit(3)', 'assert False', 'sys.exit(-1)']) {
    const checker = `${READ}if output != '7': ${refusal}`
    assert.is((await gradeOf(on, checkedBy(checker), 'print(7)')).passed, true)
    assert.is((await gradeOf(on, checkedBy(checker), 'print(8)')).passed, false, refusal)
  }
  const naive = `${READ}sys.exit(int(output) % 7)`
  assert.is((await gradeOf(on, checkedBy(naive), "print('seven')")).passed, false)
  // Nothing shows that this one can read anything.
  assert.is((await gradeOf(on, checkedBy(naive, 'any'), "print('seven')")).passed, null)
})

here('numbers that only Python reads are no numbers for a checker', async (on) => {
  const naive = `${READ}sys.exit(sum(map(int, output.split())) != 7)`
  for (const [printed, passed] of [
    ['3 4', true],
    ['٣ ٤', false],
    ['0_3 4', false],
    ['３ 4', false],
  ] as const)
    assert.is((await gradeOf(on, checkedBy(naive), `print('${printed}')`)).passed, passed, printed)
  // A test that has such words itself is about them.
  assert.is((await gradeOf(on, checkedBy(naive, '0_7'), "print('0_7')")).passed, true)
})

here('the code of a test that fails before or beside the program gives no verdict', async (on) => {
  const asserted = (code: string, setup = ''): CodingProblem =>
    parseRecord(
      {
        ...{ task_id: 1, text: 'q', code: 'def f(x):\n    return x' },
        ...{ test_list: [code], test_setup_code: setup },
      },
      'here',
    )
  const right = 'def f(x):\n    return x'
  for (const problem of [
    asserted('value = f(1)\nassert value == 1', 'import no_such_module'),
    asserted('import no_such_module\nassert f(1) == 1'),
  ])
    assert.is((await gradeOf(on, problem, right)).passed, null, problem.tests[0].input)
  const fine = asserted('value = f(1)\nassert value == 1')
  assert.is((await gradeOf(on, fine, right)).passed, true)
  assert.is((await gradeOf(on, fine, 'def f(x):\n    return [x]')).passed, false)
  const typed = asserted('value = f(1)\nassert value + 1 == 2')
  assert.is((await gradeOf(on, typed, 'def f(x):\n    return None')).passed, false)
})

here('an empty output is right if nothing is expected, and an empty input is one', async (on) => {
  const words = 'for word in input().split():\n    if len(word) > 3: print(word)'
  const count = 'import sys\nprint(len(sys.stdin.read()))'
  const record = (inputs: string[], outputs: string[]) =>
    parseRecord({ id: 'e', question: 'q', test_input: inputs, test_output: outputs }, 'here')
  const empty = record(['a b\n', 'a b\n', 'long words\n'], ['', '\n', 'long words'])
  const [grades, noise] = await grade(on, [
    { problem: empty, program: words, tests: empty.tests },
    { problem: empty, program: 'print("a")', tests: empty.tests },
  ])
  assert.equal(
    [grades, noise].map((row) => row.map(({ passed }) => passed)),
    [
      [true, true, true],
      [false, false, false],
    ],
  )
  assert.is((await gradeOf(on, record([''], ['0']), count)).passed, true)
  const live = (output: string) =>
    parseRecord(
      {
        ...{ question_id: 'l', question_content: 'q', metadata: { func_name: 'f' } },
        public_test_cases: [{ input: '"a"', output, testtype: 'functional' }],
      },
      'here',
    )
  assert.is((await gradeOf(on, live('""'), 'def f(x): return ""')).passed, true)
  assert.throws(() => live(''), /test 1: an argument or the value is no JSON/)
})

const OWN: TestCase = { input: '5\n', output: '5' }
const DIVISOR = `import json, sys
told = json.loads(input())
try: value = int(told['output'])
except ValueError: sys.exit('no number')
sys.exit(value < 1 or int(told['input']) % value)
`

here('a written test must pass the checker itself; the own tests of the problem need not', async (on) => {
  const problem = { ...checkedBy(DIVISOR), tests: [{ ...OWN, output: 'any divisor' }] }
  const right = 'print(input())'
  assert.is((await gradeOf(on, problem, right)).passed, true)
  for (const [input, output, passed, verdict] of [
    ['12\n', '4', true, 'ok'],
    ['12\n', '5', false, 'invalid'],
    ['12\n', 'many', false, 'invalid'],
    ['x\n', '1', false, 'invalid'],
  ] as const) {
    const { passed: got, result } = await gradeOf(on, problem, right, [{ input, output }])
    assert.equal([got, result.verdict], [passed, verdict], output)
  }
})

here('a written test at which the interactor fails is none, for every program', async (on) => {
  const interactor = `import json, sys
number = int(json.loads(sys.stdin.readline())['input'])
print(100 // number, flush=True)
sys.exit(0 if int(input()) == 100 // number else 1)
`
  const problem = parseRecord(
    {
      ...{ id: 'i', question: 'q', test_method: 'interactive', interactor, test_time_limit: 1 },
      ...{ test_input: ['4', '0'], test_output: ['', ''] },
    },
    'here',
  )
  const written = [
    { input: '5', output: '-' },
    { input: '0', output: '-' },
    { input: 'four', output: '-' },
  ]
  const programs = ['print(input(), flush=True)', 'print(1, flush=True)', 'pass']
  const grades = await grade(
    on,
    programs.map((program) => ({ problem, program, tests: written })),
  )
  assert.equal(
    grades.map((row) => row.map(({ passed, result }) => [passed, result.verdict === 'invalid'])),
    [true, false, false].map((passed) => [
      [passed, false],
      [false, true],
      [false, true],
    ]),
  )
  const own = await grade(on, [{ problem, program: programs[0], tests: problem.tests }])
  assert.equal(
    own[0].map(({ passed }) => passed),
    [true, null],
  )
})

test.run()
