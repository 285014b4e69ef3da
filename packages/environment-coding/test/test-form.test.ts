/** What a written test is asked for is what is read and graded: one definition, tried with what models write. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../src/executor.ts'
import { grade } from '../src/grade.ts'
import { parseUnitTest } from '../src/parse.ts'
import { type Call, type CodingProblem, STDIO } from '../src/problem.ts'
import { DEFAULT_LIMITS } from '../src/provider.ts'
import { isNovel, testForm } from '../src/test-form.ts'
import { openProvider } from './sandboxes.ts'

const FUNCTION: Call = { kind: 'function', name: 'f', prelude: '', setup: '', oracle: '' }
const JSON_CALL: Call = { kind: 'json', name: 'f', prelude: '' }

function written(call: Call, input: string, output: string) {
  const parsed = parseUnitTest(
    `**Test Input:**\n\`\`\`\n${input}\n\`\`\`\n\n**Test Output:**\n\`\`\`\n${output}\n\`\`\``,
  )
  return 'test' in parsed ? testForm(call).read(parsed.test) : parsed
}

/** A program, and a test of it as the prompt asks for it; the reference solution must pass. */
const RIGHT: readonly (readonly [Call, program: string, input: string, output: string])[] = [
  [FUNCTION, 'def f(x): return x > 1', 'f(2)', 'True'],
  [FUNCTION, 'def f(x, y): return (x, y)', 'f(4, 5)', '(4, 5)'],
  [FUNCTION, "def f(x): return x[:2] + 'o'", "f('help')", "'heo'"],
  [FUNCTION, 'def f(x): return {k: set(v) for k, v in x.items()}', "f({'a': [1, 1]})", "{'a': {1}}"],
  [JSON_CALL, 'def f(x): return x > 1', '2', 'true'],
  [JSON_CALL, 'def f(x): return x > 1', '2', 'True'],
  [JSON_CALL, 'def f(x, y): return (x, y)', '4\n5', '[4, 5]'],
  [JSON_CALL, 'def f(x, y): return (x, y)', 'f(4, 5)', '(4, 5)'],
  [JSON_CALL, "def f(x): return x[:2] + 'o'", '"help"', "'heo'"],
  [JSON_CALL, 'def f(x): return None', "{'a': None}", 'null'],
  [STDIO, 'print(int(input()) > 1)', '2', 'True'],
]

test('a test in the form that is asked for is passed by a right program and failed by a wrong one', async () => {
  const provider = await openProvider('bwrap')
  if (!provider) return
  const executor = createExecutor({ provider })
  const requests = RIGHT.map(([call, program, input, output]) => {
    const parsed = written(call, input, output)
    assert.ok('test' in parsed, JSON.stringify([call.kind, input, output, parsed]))
    return {
      problem: { call, limits: DEFAULT_LIMITS, comparator: { kind: 'tokens' as const } },
      program,
      tests: [parsed.test],
    }
  })
  const grades = await grade(executor, requests)
  for (const [i, [{ passed, result }]] of grades.entries())
    assert.is(passed, true, `${JSON.stringify(RIGHT[i])} ${JSON.stringify(result)}`)
  const wrong = requests.map((request) => ({ ...request, program: `def f(*args): return 77\nprint(77)\n` }))
  for (const [{ passed }] of await grade(executor, wrong)) assert.is(passed, false)
  await executor.close()
})

test('what is no test of the function is refused with a reason', () => {
  for (const [call, input, output, reason] of [
    [FUNCTION, 'g(2)', 'True', /does not call f/],
    [FUNCTION, '2', 'True', /not one call/],
    [FUNCTION, 'f(2)', 'x > 1', /not one call/],
    [FUNCTION, 'f(open("x"))', '1', /not one call/],
    [JSON_CALL, 'g(2)', '1', /does not call f/],
    [JSON_CALL, 'two', '1', /no JSON/],
    [JSON_CALL, '2', '{1, 2}', /no JSON/],
  ] as const) {
    const parsed = written(call, input, output)
    assert.ok('reason' in parsed && reason.test(parsed.reason), JSON.stringify([input, output, parsed]))
  }
})

test('each form says what it is, by the name of the function', () => {
  for (const call of [FUNCTION, JSON_CALL]) assert.match(testForm(call).asks, /\bf\b/)
  assert.match(testForm(STDIO).asks, 'standard input')
})

test('an input that says what an example says is not novel, however it is spelled', () => {
  const of = (call: Call, input: string): CodingProblem =>
    ({ id: 'p', question: '', call, examples: [{ input, output: 'x' }] }) as unknown as CodingProblem
  const isNew = (call: Call, shown: string, input: string) => isNovel(of(call, shown), { input, output: 'x' })
  const copies: readonly (readonly [string, ...string[]])[] = [
    [
      '2\n10 -4\n',
      '2 10 -4 7',
      '2\n1e1 -4.0',
      '２\n10 -4',
      '2\n1_0 -4',
      '٢\n10 -4',
      '2\u2060 10 -4',
      '\ufeff2\n10\u00a0-4',
    ],
    [
      '{"a": [1, 2], "b": "é"}',
      '{"b":"e\u0301","a":[1.0,2]}',
      '{ "a":[1,2],"b":"\\u00e9" }',
      '{"a": [1,\n2], "b": "é"}',
    ],
    ["['x', 3]", '["x",3]', "[ 'x' , 3.0 ]"],
    ['abc\n', 'abc', 'a\u200dbc', 'abc def'],
  ]
  for (const [shown, ...others] of copies)
    for (const input of others) assert.is(isNew(STDIO, shown, input), false, JSON.stringify([shown, input]))
  for (const [shown, input] of [
    ['2\n10 -4\n', '2\n10 4'],
    ['2\n10 -4\n', '2\n1 0 -4'],
    ['2\n10 -4\n', '2'],
    ['["x", 3]', '["X", 3]'],
    ['["x", 3]', '["x", "3"]'],
    ['abc', 'ABC'],
    ['', '1'],
    ['1.5', '15'],
  ])
    assert.is(isNew(STDIO, shown, input), true, JSON.stringify([shown, input]))
  assert.is(isNew(STDIO, '', ' \n'), false)
  assert.is(isNew(JSON_CALL, '{"a": 1}\n2', '{"a":1.0}\n2\n3'), false)
  assert.is(isNew(JSON_CALL, '[1, 2]', '[1, 2, 3]'), true)
  assert.is(isNew({ kind: 'interactive', interactor: '' }, '7\n', '07'), false)
})

test('a test is novel where neither an example nor the question of a call shows its input', () => {
  const of = (call: Call, question: string, ...inputs: string[]): CodingProblem => ({
    ...{ id: 'p', question, call, tests: [], solutions: [], split: null },
    ...{ limits: DEFAULT_LIMITS, comparator: { kind: 'tokens' } },
    examples: inputs.map((input) => ({ input, output: 'x' })),
  })
  const novel = (problem: CodingProblem, input: string) => isNovel(problem, { input, output: 'x' })
  assert.is(novel(of(STDIO, '', '1 2\n'), ' 1  2'), false)
  assert.is(novel(of(STDIO, '1 3', '1 2\n'), '1 3'), true)
  // Whoever is rewarded for a new input must not get it by writing an old one otherwise.
  assert.is(novel(of(STDIO, '', '1 -2 0\n'), '+01 -02 000'), false)
  assert.is(novel(of(STDIO, '', '1 -2\n'), '1 2'), true)
  assert.is(novel(of(JSON_CALL, '', '[1,2]\n"a"'), '[1, 2]\n"a"'), false)
  assert.is(novel(of(JSON_CALL, '', '[1,2]\n"a"'), '[1, 2]\n"b"'), true)
  assert.is(novel(of(FUNCTION, 'e.g. f(1) == 2'), 'f(1)\n'), false)
  assert.is(novel(of(FUNCTION, '', 'f([1,2])'), 'f( [1, 2] )\n'), false)
  assert.is(novel(of(FUNCTION, '', 'f([1,2])'), 'f([1, 3])\n'), true)
  const shown = of(FUNCTION, 'Your code should pass: assert f([1,2], "a") == (f(3)) and f(x) == f (4 ,)')
  for (const input of ["f( [1, 2], 'a' )", 'f([1, 2], y="a")', 'f(0x3)', 'f(4)'])
    assert.is(novel(shown, input), false, input)
  for (const input of ['f([1, 2])', 'f(5)', 'f("a", [1, 2])']) assert.is(novel(shown, input), true, input)
})

test.run()
