/** What a program says of itself is judged, whatever it says: a verdict about the program, never a failure of the grader. */
import { parseExact, RlError } from 'rlanything/kit'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../src/executor.ts'
import { parseRecord } from '../src/formats.ts'
import { callResults } from '../src/function-tests.ts'
import { grade } from '../src/grade.ts'
import type { CodingProblem } from '../src/problem.ts'
import { equalValues, type PythonValue, valueOfJson, wholeValue } from '../src/python-value.ts'
import { openProvider } from './sandboxes.ts'

const mbpp = (...asserted: string[]): CodingProblem =>
  parseRecord({ task_id: 1, text: 'q', code: 'def f(x):\n    return x', test_list: asserted }, 'here')

/** Whether each test of each program passed. */
async function passed(
  ...pairs: readonly (readonly [problem: CodingProblem, program: string])[]
): Promise<(boolean | null)[][] | null> {
  const provider = await openProvider('bwrap')
  if (!provider) return null
  const executor = createExecutor({ provider })
  const grades = await grade(
    executor,
    pairs.map(([problem, program]) => ({ problem, program, tests: problem.tests })),
  )
  await executor.close()
  return grades.map((row) => row.map((one) => one.passed))
}

/** Finds the mark in its caller's frame and answers in its place. */
const forging = (answer: string) => `import os, sys
frame = sys._getframe()
while frame and 'task' not in frame.f_locals:
    frame = frame.f_back
os.write(1, ('\\n' + frame.f_locals['task']['mark'] + ' ' + ${answer} + '\\n').encode())
os._exit(0)
`

test('answers that are none fail the test, not the grader', async () => {
  const nested = (depth: number) => `'[{"value": ' + '["l", ' * ${depth} + '1' + ']' * ${depth} + '}]'`
  const problem = mbpp('assert f(1) == 1', 'value = f(1)\nassert value == 1')
  const answers = [
    ...["'[5]'", "'[null]'", `'[{"value": [5]}]'`, `'[{"value": ["d", 5]}]'`, `'[{"raised": 5}]'`],
    ...[nested(100_000), nested(2000), `'[{"value": ["i", "x"]}]'`],
  ]
  const right = 'def f(x):\n    return x'
  const pairs = [...answers.map(forging), right].map((program) => [problem, program] as const)
  const grades = await passed(...pairs)
  if (grades) assert.equal(grades, [...answers.map(() => [false, false]), [true, true]])
})

test('results of a program are of the shape in which values travel', () => {
  const read = (results: unknown) => callResults(`said\nm ${JSON.stringify(results)}\n`, 'm')
  const values = [null, true, 1, 'a', ['l'], ['d', [1, ['l', 2]]], ['f', '0.5'], ['n', 'array.array', 1]]
  assert.equal(read(values.map((value) => ({ value })))?.results.length, values.length)
  assert.ok(read([{ raised: 'ValueError' }]))
  for (const damaged of [5, null, [], {}, { raised: 1 }, { value: {} }, { value: [] }, { value: [1] }])
    assert.is(read([damaged]), null, JSON.stringify(damaged))
  for (const damaged of [
    ['l', {}],
    ['l', [1]],
    ['d', [1]],
    ['d', [1, 2, 3]],
    ['d', [1, []]],
    ['d', 5],
  ])
    assert.is(read([{ value: damaged }]), null, JSON.stringify(damaged))
})

test('what a program raises ends no iteration of the test', async () => {
  const problem = mbpp('assert all(map(lambda p: f(p[0]) == p[1], [(1, 1), (3, 3)]))')
  const programs = ['StopIteration', 'StopAsyncIteration', 'GeneratorExit', 'ValueError']
  const grades = await passed(...programs.map((name) => [problem, `def f(x):\n    raise ${name}`] as const), [
    problem,
    'def f(x):\n    return x',
  ])
  if (grades) assert.equal(grades.flat(), [false, false, false, false, true])
})

const evalPlus = (solution: string, ...inputs: unknown[][]): CodingProblem =>
  parseRecord(
    {
      task_id: 'e/1',
      prompt: 'def f(x):\n    """ q """\n',
      entry_point: 'f',
      canonical_solution: `    ${solution}\n`,
      base_input: inputs,
      plus_input: [],
    },
    'here',
  )

const mbppPlus = (
  number: number,
  name: string,
  code: string,
  atol: number,
  ...inputs: unknown[][]
): CodingProblem =>
  parseRecord(
    {
      ...{ task_id: `Mbpp/${number}`, prompt: '"""\nq\n"""\n', entry_point: name },
      ...{ canonical_solution: code, base_input: inputs, plus_input: [], atol },
    },
    'here',
  )

test('EvalPlus: arguments are of the types that its tasks have, and some tasks have rules of their own', async () => {
  const echo = (number: number, expression: string, ...inputs: unknown[][]): [CodingProblem, string] => {
    const code = `def f(*args):\n    return ${expression}`
    return [mbppPlus(number, 'f', code, 0, ...inputs), code]
  }
  const types = (number: number, expected: string, ...inputs: unknown[][]): [CodingProblem, string] => [
    mbppPlus(number, 'f', `def f(*args):\n    return repr(${expected})`, 0, ...inputs),
    'def f(*args):\n    return repr(args)',
  ]
  const right: readonly [CodingProblem, string][] = [
    types(2, '((1, 2), (3,))', [[1, 2], [3]]),
    types(63, '([(1, 2)],)', [[[1, 2]]]),
    types(75, '([(1, 2)], 3)', [[[1, 2]], 3]),
    types(106, '([1], (2,))', [[1], [2]]),
    types(115, '([{1}, {}],)', [[[1], []]]),
    types(124, '(1.0, 1j)', ['1', '1j']),
    types(252, '(3j,)', ['3j']),
    types(307, '((1,), 2, 3)', [[1], 2, 3]),
    types(259, '(((1,), (2,)),)', [[[1], [2]]]),
    types(278, '((1, (2,)),)', [[1, [2]]]),
    types(722, "({'a': (1, 2)}, 3)", [{ a: [1, 2] }, 3]),
    types(580, '((1, (2,)),)', [[1, [2]]]),
    types(3, '([1],)', [[1]]),
    echo(2, 'set(args[0] + args[1])', [[1], [2]]),
  ]
  const like = (code: string, ...values: string[]) => values.map((value) => code.replace('ANSWER', value))
  const rules: [CodingProblem, string[], boolean[]][] = [
    [
      mbppPlus(2, 'similar_elements', 'def similar_elements(a, b):\n    return (2, 1)', 0, [[1], [2]]),
      like('def similar_elements(a, b):\n    return ANSWER', '[1, 2, 2]', '{1, 2}', '(1,)'),
      [true, true, false],
    ],
    [
      mbppPlus(295, 'sum_div', 'def sum_div(n):\n    return 6', 0, [6]),
      like('def sum_div(n):\n    return ANSWER', '6', '0', '5'),
      [true, true, false],
    ],
    [
      mbppPlus(558, 'digit_distance_nums', 'def digit_distance_nums(a, b):\n    return 7', 0, [1, 256]),
      like('def digit_distance_nums(a, b):\n    return ANSWER', '7', '12', '11'),
      [true, true, false],
    ],
    [
      mbppPlus(581, 'surface_Area', 'def surface_Area(a, b):\n    return 33', 0, [4, 5]),
      like('def surface_Area(a, b):\n    return ANSWER', '33', '59', '60'),
      [true, true, false],
    ],
    [
      mbppPlus(737, 'check_str', 'import re\ndef check_str(s):\n    return re.match("a", s)', 0, ['ab']),
      like('def check_str(s):\n    return ANSWER', '"Valid"', 'True', 'None', 'False'),
      [true, true, false, false],
    ],
    [
      evalPlus('return (x, 0.5, 1)', [2]),
      like('def f(x):\n    return ANSWER', '(2, 0.5, 1)', '(2, 0.5000000001, 1)', '[2, 0.5, 1]'),
      [true, false, false],
    ],
    [
      evalPlus('return [x / 3]', [2]),
      like('def f(x):\n    return ANSWER', '[0.6666667]', '(0.6666666666666666,)', '[0.667]'),
      [true, false, false],
    ],
  ]
  const zeros: CodingProblem = parseRecord(
    {
      ...{ task_id: 'HumanEval/32', prompt: 'def find_zero(xs):\n    """ q """\n', entry_point: 'find_zero' },
      ...{
        canonical_solution: '    return 1.0\n',
        base_input: [[[6, -11, 6, -1]]],
        plus_input: [],
        atol: 1e-4,
      },
    },
    'here',
  )
  rules.push([
    zeros,
    like('def find_zero(xs):\n    return ANSWER', '1.0', '2.000001', '3', '1.5'),
    [true, true, true, false],
  ])
  const graded = await passed(
    ...right,
    ...rules.flatMap(([problem, programs]) => programs.map((program) => [problem, program] as const)),
  )
  if (graded)
    assert.equal(graded.flat(), [...right.map(() => true), ...rules.flatMap(([, , expected]) => expected)])
  assert.throws(
    () => mbppPlus(164, 'are_equivalent', 'def are_equivalent(a, b):\n    return True', 0, [1, 2]),
    /every answer/,
  )
})

test('only infinity is close to infinity', async () => {
  const problem = evalPlus('return x * 1e308 * 10', [1.5])
  const values = ['1.0', '1', '-float("inf")', 'float("nan")', 'float("inf")']
  const grades = await passed(...values.map((value) => [problem, `def f(x):\n    return ${value}`] as const))
  if (grades) assert.equal(grades.flat(), [false, false, false, false, true])
})

test('numbers of any size and written in any way are compared at once', async () => {
  const program = (value: string) =>
    `from decimal import Decimal\nfrom fractions import Fraction\ndef f(x):\n    return ${value}`
  const problem = mbpp('assert f(1) == [1]', 'value = f(1)\nassert value == [1]')
  const hostile = ["[Decimal('1E-5000')] * 50000", 'list(range(60000))', '[Fraction(1, 2 ** 4000)] * 3000']
  const begun = process.cpuUsage()
  const grades = await passed(...hostile.map((value) => [problem, program(value)] as const))
  const { user } = process.cpuUsage(begun)
  // Processor time of this process, which runs no program itself: it was a minute.
  if (grades) {
    assert.equal(grades.flat(), [false, false, false, false, false, false])
    assert.ok(user < 8e6, `${user / 1e6} s`)
  }
})

test('numbers are equal by their value, however they are written', () => {
  const groups: readonly (readonly PythonValue[])[] = [
    [0, false, ['f', '-0.0'], ['m', '0E+9'], ['q', '0x0', '0x1'], ['c', '0', '-0.0']],
    [1, true, ['f', '1.0'], ['m', '10E-1'], ['m', '+1.000']],
    [1000, ['f', '1000.0'], ['f', '1e3'], ['m', '0.1E+4']],
    [
      ['q', '0x1', '0x2'],
      ['f', '0.5'],
      ['m', '.50'],
      ['m', '5e-1'],
    ],
    [
      ['q', '-0x3', '0x190'],
      ['m', '-0.0075'],
    ],
    [['f', '-0.0075']],
    [
      ['f', '0.3'],
      ['c', '3e-1', '0'],
    ],
    [
      ['m', '0.3'],
      ['q', '0x3', '0xa'],
    ],
    // The float 0.1 in full.
    [
      ['f', '0.1'],
      ['m', '0.1000000000000000055511151231257827021181583404541015625'],
    ],
    [
      ['f', '1e+300'],
      ['m', String(BigInt(1e300))],
      ['i', `0x${BigInt(1e300).toString(16)}`],
    ],
    [['m', '1e300']],
    [
      ['f', '5e-324'],
      ['f', '4.9e-324'],
    ],
    [['m', '5e-324']],
    [['q', '0x1', '0x3']],
    [['f', '0.3333333333333333']],
    [
      ['i', '0x20000000000001'],
      ['m', '9007199254740993'],
    ],
    [
      ['i', '-0x20000000000001'],
      ['m', '-9007199254740993.0'],
    ],
    [['f', '1e+22'], valueOfJson('10000000000000000000000')],
    [
      ['f', 'inf'],
      ['m', 'Infinity'],
    ],
    [['f', '-inf']],
    [['m', '1E-999999999999']],
    [wholeValue(7n ** 9000n), valueOfJson(String(7n ** 9000n))],
    [['q', '0x1', `0x${(7n ** 9000n).toString(16)}`]],
    ['1'],
    ['1e0'],
  ]
  for (const [i, group] of groups.entries())
    for (const [j, other] of groups.entries())
      for (const a of group)
        for (const b of other)
          assert.is(equalValues(a, b), i === j, `${JSON.stringify(a)} ${JSON.stringify(b)}`)
  assert.is(equalValues(['f', 'nan'], ['f', 'nan']), false)
  // A text that is no number is found to be none in one pass.
  assert.is(equalValues(1, ['m', `${'1'.repeat(1 << 20)}x`]), false)
  assert.is(equalValues(1, ['m', `${'0'.repeat(1 << 20)}1${'0'.repeat(1 << 20)}1`]), false)
})

test('whole numbers of thousands of digits go in and out, and standard input has its bytes', async () => {
  const json = parseRecord(
    {
      ...{ id: 'big', question: 'q', test_method: 'function', fn_name: 'f' },
      test_input: [`1${'0'.repeat(4999)}7`, `-9${'0'.repeat(5000)}`],
      test_output: [`1${'0'.repeat(4999)}8`, `-8${'9'.repeat(5000)}`],
    },
    'here',
  )
  const code = mbpp(
    'value = f(10 ** 5000)\nassert value == 10 ** 5000 + 1',
    'assert f(-2 ** 60) == -1152921504606846975',
  )
  const fraction = mbpp(
    'from fractions import Fraction\nassert f(Fraction(1, 7 ** 6000)) == Fraction(1, 7 ** 6000) + 1',
  )
  const right = 'def f(x):\n    return x + 1'
  const grades = await passed(
    [json, right],
    [json, 'def f(x):\n    return x'],
    [code, right],
    [fraction, right],
    [mbpp('assert f(1) == 1'), 'import sys\nread = sys.stdin.buffer.readline\ndef f(x):\n    return x'],
  )
  if (grades) assert.equal(grades, [[true, true], [false, false], [true, true], [true], [true]])
})

/** As a file's record is read. */
const apps = (inputs: string, outputs: string): CodingProblem =>
  parseRecord(
    parseExact(
      `{"id": 7.0, "question": "q", "time_limit": 2.0, "input_output": ${JSON.stringify(
        `{"fn_name": "f", "inputs": ${inputs}, "outputs": ${outputs}}`,
      )}}`,
    ),
    'here',
  )

test('numbers of a record are those of its file', async () => {
  const { tests, id, limits } = apps(
    '[[9007199254740993, 1.0], [1e21, [-0.0]]]',
    '[[9007199254740993], [2.50]]',
  )
  assert.equal([id, limits.cpuMs], ['7', 2000])
  assert.equal(tests, [
    { input: '9007199254740993\n1.0', output: '9007199254740993' },
    { input: '1e21\n[-0.0]', output: '2.50' },
  ])
  const lines = { question: 'q', input_output: '{"inputs": [[1.0, "a", [2.0]], 3.0], "outputs": ["x", 4]}' }
  assert.equal(parseRecord(lines, 'here').tests, [
    { input: '1.0\na\n2\n', output: 'x' },
    { input: '3.0', output: '4' },
  ])
  const json =
    '{"task_id": "e", "prompt": "def f(x):\\n    pass\\n", "entry_point": "f", "canonical_solution": "    return [type(x).__name__, x]\\n", "base_input": [[1.0], [9007199254740993], [100000000000000000000000]], "plus_input": [], "atol": 1e-06}'
  const problem = parseRecord(parseExact(json), 'here')
  assert.match(problem.tests[0].input, '[1.0]')
  const grades = await passed(
    [problem, 'def f(x):\n    return [type(x).__name__, x]'],
    [
      problem,
      "def f(x):\n    return ['float' if x == 1 else 'int', {1: 1.0}.get(x, 9007199254740993 if x < 10 ** 20 else 10 ** 23)]",
    ],
  )
  if (grades)
    assert.equal(grades, [
      [true, true, true],
      [true, true, true],
    ])
})

test('values of a record stand in lists of one where all of them do', () => {
  const outputs = (json: string) => apps('[[1], [2]]', json).tests.map(({ output }) => output)
  assert.equal(outputs('[[[1]], [[2, 3]]]'), ['[1]', '[2,3]'])
  assert.equal(outputs('[[1], [2, 3]]'), ['[1]', '[2,3]'])
  assert.equal(outputs('[1, [2]]'), ['1', '[2]'])
})

test('where every value of a record is a list of one, that list or what it holds is the value', async () => {
  const problem = (outputs: string) => apps('[[1], [2]]', outputs)
  const answers = ['x', '[x]', '[[x]]', '(x,)', '[x + 1]', '[x, x]']
  const grades = await passed(
    ...answers.map((answer) => [problem('[[1], [2]]'), `def f(x):\n    return ${answer}`] as const),
    [problem('[[1], [2, 3]]'), 'def f(x):\n    return x if x == 1 else [2, 3]'],
  )
  if (grades)
    assert.equal(
      grades.map(([first, second]) => [first, second]),
      [...[true, true, false, true, false, false].map((right) => [right, right]), [false, true]],
    )
})

test('a key of expected JSON that is a whole number is that number or its text', async () => {
  const problem = apps('[[1]]', '[[{"1": 2, "-3": [4]}]]')
  const values = ['{1: 2, -3: [4]}', "{'1': 2, '-3': [4]}", '{1: 2, 3: [4]}', "{'01': 2, -3: [4]}", '{1: 2}']
  const grades = await passed(...values.map((value) => [problem, `def f(x):\n    return ${value}`] as const))
  if (grades) assert.equal(grades.flat(), [true, true, false, false, false])
})

test('a program finds what the harness of its data set has imported, with standard input as in a function', async () => {
  const live = (functional: boolean): CodingProblem =>
    parseRecord(
      {
        question_id: 'l',
        question_content: 'q',
        public_test_cases: [{ input: '3', output: '3', testtype: functional ? 'functional' : 'stdin' }],
        metadata: { func_name: 'f' },
      },
      'here',
    )
  const taco = parseRecord({ question: 'q', input_output: { inputs: ['3\n'], outputs: ['3\n'] } }, 'here')
  const bodies = [
    'bisect.bisect_left([1, 2, 3], 3) + 1',
    'copy.deepcopy([n])[0]',
    'random.randint(n, n)',
    'bisect_right([1, 2], 3) + Counter("a")["a"]',
    'datetime.date(1, 1, n).day',
    'deque([n]).pop() if gcd(4, 6) == 2 and pow(2, 3, 5) == 3 and math.inf > 0 else List[int]',
    '(lambda f: f(f, 5000) - 5000 + n)(lambda f, k: k and 1 + f(f, k - 1))',
  ]
  const grades = await passed(
    ...bodies.map((body) => [live(true), `class Solution:\n def f(self, n):\n  return ${body}`] as const),
    ...bodies.map((body) => [live(false), `n = int(input())\nprint(${body})`] as const),
    ...[...bodies, 'fractions.Fraction(n) if time.time() > 0 else 0'].map(
      (body) => [taco, `n = int(input())\nprint(${body})`] as const,
    ),
    [live(false), "'doc'\nfrom __future__ import annotations\nprint(input())"],
  )
  if (grades) assert.equal(grades.flat(), new Array(grades.length).fill(true))
})

test('a right program may print as much as is expected', async () => {
  const lines = Array.from({ length: 250_000 }, (_, i) => i * 12_345)
  const problem = parseRecord(
    { id: 'long', question: 'q', test_input: ['1\n'], test_output: [`${lines.join('\n')}\n`] },
    'here',
  )
  const grades = await passed([problem, 'for i in range(250000):\n    print(i * 12345, end=" \\r\\n")'])
  if (grades) assert.equal(grades, [[true]])
})

test('a record of any depth gives a problem or a clear error', () => {
  for (let depth = 1000; depth < 64_000; depth *= 1.3) {
    const deep = `${'['.repeat(depth)}1.0${']'.repeat(depth)}`
    for (const name of ['"fn_name": "f", ', '']) {
      const tests = `{${name}"inputs": [${deep}], "outputs": [1]}`
      for (const record of [
        { question: 'q', input_output: tests },
        { question: 'q', input_output: JSON.parse(tests) },
        { question: 'q', input_output: '{"inputs": [1], "outputs": [1]}', more: JSON.parse(deep) },
      ])
        try {
          parseRecord(record, 'here')
        } catch (error) {
          assert.instance(error, RlError, `${depth} ${error}`)
        }
    }
  }
})

test.run()
