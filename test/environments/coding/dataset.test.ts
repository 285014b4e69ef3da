import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parseCandidate } from '../../../src/environments/coding/candidate.ts'
import {
  isSkipped,
  loadProblems,
  readProblems,
  skippedLine,
} from '../../../src/environments/coding/dataset.ts'
import { createExecutor } from '../../../src/environments/coding/executor.ts'
import { readUnitTest } from '../../../src/environments/coding/family/unit-test.ts'
import { parseRecord } from '../../../src/environments/coding/formats.ts'
import { grade } from '../../../src/environments/coding/grade.ts'
import { parseProgram, parseUnitTest } from '../../../src/environments/coding/parse.ts'
import type { CodingProblem } from '../../../src/environments/coding/problem.ts'
import { splitAssertions } from '../../../src/environments/coding/python-assertions.ts'
import { findCalls, readLiteral } from '../../../src/environments/coding/python-literal.ts'
import { RlError } from '../../../src/errors.ts'
import { RECORDS, tests } from './records.ts'
import { openProvider } from './sandboxes.ts'

const read = (record: object): CodingProblem =>
  parseRecord(JSON.parse(JSON.stringify(record)), 'file.jsonl:1')

test('each format gives its tests, limits and reference solutions', () => {
  assert.is(read(RECORDS.reference).tests.length, 12)
  assert.is(read(RECORDS.reference).limits.cpuMs, 2000)
  const contest = read(RECORDS.codeContests)
  assert.equal(
    contest.tests.map(({ output }) => output),
    ['2\n', '3\n', '4\n'],
  )
  assert.equal([contest.limits.cpuMs, contest.limits.memoryMB], [2500, 256])
  assert.equal(contest.solutions, ['print(int(input()) + 1)'])
  for (const record of [RECORDS.liveCodeBench, RECORDS.liveCodeBenchPickled])
    assert.equal(
      read(record).tests.map(({ input }) => input),
      ['1\n', '2\n'],
    )
  const { call } = read(RECORDS.liveBench)
  assert.ok(call.kind === 'json' && call.name === 'add')
  assert.equal(read(RECORDS.mbpp).tests, [
    { input: 'f("hello", "l")', output: '"helo"' },
    { input: "bool(not f('', 'x'))", output: 'True' },
    { input: 'f("a,b", ",")', output: "'ab'" },
  ])
  assert.equal(read(RECORDS.humanEval).tests, [
    { input: 'candidate(2)', output: '(2, 4, {2: .5})' },
    { input: 'candidate(3)[0]', output: '3.0' },
    { input: 'bool(abs(candidate(3)[1] - 9) < 1e-6)', output: 'True' },
  ])
  assert.is(read(RECORDS.humanEvalLoop).tests.length, 1)
  assert.is(read(RECORDS.evalPlus).tests.length, 3)
})

test("files are read line by line, packed or not; what cannot be read is skipped and named; a sample is a seed's", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rl-dataset-test-'))
  const text = `${JSON.stringify(RECORDS.reference)}\n{"something": 1}\n\n{\n${JSON.stringify(RECORDS.reference)}\n${JSON.stringify(RECORDS.mbpp)}`
  writeFileSync(join(folder, 'a.jsonl'), text)
  writeFileSync(join(folder, 'b.jsonl.gz'), gzipSync(text))
  writeFileSync(join(folder, 'c.json'), JSON.stringify([RECORDS.mbpp, null]))
  for (const name of ['a.jsonl', 'b.jsonl.gz']) {
    const loaded = await loadProblems([join(folder, name)])
    assert.equal(
      loaded.problems.map(({ id }) => id),
      ['a/1', 'mbpp/11'],
    )
    assert.equal(
      loaded.skipped.map(({ place }) => place.split(':').at(-1)),
      ['2', '4', '5'],
    )
    assert.match(
      skippedLine(loaded.skipped, loaded.problems.length) ?? '',
      /^3 of 5 records were skipped: .*something/,
    )
  }
  assert.is((await loadProblems([join(folder, 'c.json')])).skipped.length, 1)
  // A byte order mark before the first record, or the array, is none of it.
  writeFileSync(join(folder, 'd.jsonl'), `\ufeff${JSON.stringify(RECORDS.mbpp)}\n`)
  writeFileSync(join(folder, 'd.json'), `\ufeff${JSON.stringify([RECORDS.mbpp])}`)
  for (const name of ['d.jsonl', 'd.json']) {
    const { problems, skipped } = await loadProblems([join(folder, name)])
    assert.equal([problems.length, skipped], [1, []])
  }
  const sample = async (seed: number) =>
    (await loadProblems([join(folder, 'a.jsonl')], { tests: 5, seed })).problems[0].tests
  assert.is((await sample(1)).length, 5)
  assert.equal(await sample(1), await sample(1))
  assert.not.equal(await sample(1), await sample(2))
  try {
    await loadProblems(['/nowhere.jsonl'])
    assert.unreachable()
  } catch (error) {
    assert.instance(error, RlError)
  }
  rmSync(folder, { recursive: true })
})

test('a record is there before the next one is read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rl-dataset-test-'))
  const file = join(folder, 'long.jsonl.gz')
  const noise = randomBytes(1 << 22).toString('base64')
  writeFileSync(file, gzipSync(`${JSON.stringify(RECORDS.mbpp)}\n${noise}`).subarray(0, -1000))
  const records = readProblems([file])
  const { value } = await records.next()
  assert.ok(value && !isSkipped(value) && value.id === 'mbpp/11')
  try {
    await records.next()
    assert.unreachable()
  } catch (error) {
    assert.match((error as Error).message, 'cannot read')
  }
  rmSync(folder, { recursive: true })
})

test('reference solutions of every format pass, function-style tests are executed, and wrong programs fail', async () => {
  const provider = await openProvider('bwrap')
  if (!provider) return
  const executor = createExecutor({ provider })
  const problems = Object.values(RECORDS)
    .map((record) => read(record))
    .filter(({ solutions }) => solutions.length > 0)
  const grades = await grade(
    executor,
    problems.map((problem) => ({ problem, program: problem.solutions[0], tests: problem.tests })),
  )
  for (const [i, row] of grades.entries())
    for (const { passed, result } of row)
      assert.is(passed, true, `${problems[i].id} ${JSON.stringify(result)}`)
  const wrong = await grade(executor, [
    { problem: read(RECORDS.mbpp), program: 'def f(s, c):\n    return s', tests: read(RECORDS.mbpp).tests },
    {
      problem: read(RECORDS.humanEval),
      program: 'import os\nos._exit(0)',
      tests: read(RECORDS.humanEval).tests,
    },
  ])
  assert.equal(
    wrong.map((row) => row.map(({ passed }) => passed)),
    [
      [false, true, false],
      [false, false, false],
    ],
  )
  await executor.close()
})

test('literals read here are the values that Python reads', async () => {
  const literals = [
    ...['-3', '1e3', '0.1', '1e-7', '1e22', '0x1f', '1_000', '3.', '.5', "b'a\\x00'", '2j', 'True', 'None'],
    ...["'a\\n\\x41é'", 'u\'x\' "y"', 'r"\\n"', '(1,)', '((1))', '()', '[1, (2, [3.5]),]', '{}', '{1, 2.0}'],
    ...[
      'set()',
      "{'b': [None], 'a': True}",
      "{1: 'x', 'y': 2}",
      '"""a"b"""',
      '12345678901234567890',
      '(None)',
    ],
  ]
  const provider = await openProvider('bwrap')
  if (!provider) return
  const executor = createExecutor({ provider })
  const problem = read({ ...RECORDS.mbpp, code: 'def f(x):\n    return x', test_list: ['assert f(1) == 1'] })
  const cases = literals.map((literal) => ({ input: `f(${literal})`, output: literal }))
  const [grades] = await grade(executor, [{ problem, program: problem.solutions[0], tests: cases }])
  for (const [i, { passed, result }] of grades.entries())
    assert.is(passed, true, `${JSON.stringify(cases[i])} ${result.stdout}`)
  await executor.close()
  for (const other of ['f(1)', '1 + 1', 'x', '[1', '"a', '1 2', '', '.'])
    assert.is(readLiteral(other), undefined, other)
})

test("values are compared by Python's equality, whatever type or order they come in", async () => {
  const provider = await openProvider('bwrap')
  if (!provider) return
  const executor = createExecutor({ provider })
  const problem = read({ ...RECORDS.mbpp, code: 'def f():\n    return 1', test_list: ['assert f() == 1'] })
  const imports = 'import collections, decimal, enum, fractions\n'
  for (const [value, output, same] of [
    ['True', '1', true],
    ["enum.IntEnum('E', 'A B').B", '2', true],
    ['fractions.Fraction(1, 2)', '0.5', true],
    ['fractions.Fraction(1, 3)', '0.3333333333333333', false],
    ["decimal.Decimal('0.50')", '0.5', true],
    ['complex(3, 0)', '3', true],
    ["float('nan')", '0', false],
    ["{'b': 1, 'a': {2, 1.0}}", "{'a': {1, 2}, 'b': True}", true],
    ["collections.Counter('aab')", "{'b': 1, 'a': 2}", true],
    ['collections.deque([1])', '[1]', false],
    ['(1, 2)', '[1, 2]', false],
    ['10 ** 20 + 1', '100000000000000000000', false],
    ["'1'", '1', false],
    ['1000000005', '1000000006', false],
    ['(x for x in [1])', '[1]', false],
    ["type('Any', (), {'__eq__': lambda a, b: True})()", '1', false],
    ['2.0 ** 70', '1180591620717411303424', true],
    ['1e23', '100000000000000000000000', false],
    ['1 / 3', '0.33333333333333331', true],
    ["{'b': 1, 'a': 2}.keys()", "{'a', 'b'}", true],
    ["{'b': 1, 'a': 2}.keys()", "['b', 'a']", false],
  ] as const) {
    const program = `${imports}def f():\n    return ${value}`
    const [[{ passed, result }]] = await grade(executor, [
      { problem, program, tests: [{ input: 'f()', output }] },
    ])
    assert.is(passed, same, `${value} == ${output}: ${result.stdout} ${result.stderrTail}`)
  }
  await executor.close()
})

test('the code of a test can go through what an iterator gives', async () => {
  const provider = await openProvider('bwrap')
  if (!provider) return
  const executor = createExecutor({ provider })
  const problem = read({
    ...RECORDS.mbpp,
    code: 'def f(x):\n    return []',
    test_list: [
      'assert list(f(3)) == [0, 1, 2]',
      'assert sorted(f(3), reverse=True) == [2, 1, 0]',
      'assert f(3) != [0, 1, 2]',
    ],
  })
  const programs = [
    'def f(x):\n    for i in range(x): yield i',
    'def f(x):\n    return map(int, "012")',
    'def f(x):\n    return {i: i for i in range(x)}.keys()',
    'import itertools\ndef f(x):\n    return itertools.count()',
  ]
  const grades = await grade(
    executor,
    programs.map((program) => ({ problem, program, tests: problem.tests })),
  )
  await executor.close()
  assert.equal(
    grades.map((row) => row.map(({ passed }) => passed)),
    [
      [true, true, true],
      [true, true, true],
      [true, true, true],
      [false, false, true],
    ],
  )
})

test('what is no assertion is refused', () => {
  assert.match(splitAssertions('x = 1\nassert x == 1').refused ?? '', 'x = 1')
  assert.equal(splitAssertions('assert f("a;b#c") == [\n 1,\n 2]; assert g(1) == 2 # no').tests, [
    { input: 'f("a;b#c")', output: '[  1,  2]' },
    { input: 'g(1)', output: '2' },
  ])
})

const BAD: readonly [record: unknown, message: RegExp][] = [
  [{ ...RECORDS.reference, test_output: ['1'] }, /file\.jsonl:1: test: 12 inputs and 1 outputs/],
  [{ ...RECORDS.reference, test_input: [1] }, /test_input/],
  [{ ...RECORDS.reference, test_time_limit: -1 }, /test_time_limit/],
  [{ ...RECORDS.function, fn_name: undefined }, /fn_name/],
  [{ ...RECORDS.function, fn_name: 'f(); import os' }, /fn_name/],
  [{ ...RECORDS.codeContests, input_file: 'input.txt' }, /input_file: programs use the file input\.txt/],
  [{ ...RECORDS.liveCodeBench, private_test_cases: 'AAAA' }, /private_test_cases.*base64/],
  [
    {
      ...RECORDS.liveCodeBench,
      private_test_cases: deflateSync(Buffer.from([0x80, 4, 0x95])).toString('base64'),
    },
    /private_test_cases.*pickle/,
  ],
  [{ ...RECORDS.apps, input_output: { inputs: [], outputs: [] } }, /tests: there are none/],
  [{ ...RECORDS.reference, ...tests(0) }, /tests: there are none/],
  [{ ...RECORDS.mbpp, test_list: ['import os'] }, /test_list: the tests call nothing/],
  // An object cannot travel from a test to a program's process: no program could pass.
  [
    {
      ...RECORDS.mbpp,
      code: `class Pair(object):\n    pass\n${RECORDS.mbpp.code}`,
      test_list: ['assert f(Pair(1)) == 2'],
    },
    /test_list: the tests make objects of the class Pair/,
  ],
  [{ ...RECORDS.humanEval, test: 'nothing' }, /check\(candidate\)/],
  [{ something: 1 }, /no known format.*something/],
  [[], /expected a JSON object/],
  [null, /expected a JSON object/],
]

test('damaged records are refused with file, line and key', () => {
  for (const [record, message] of BAD)
    assert.throws(
      () => parseRecord(record, 'file.jsonl:1'),
      (error: Error) => error instanceof RlError && message.test(error.message),
      JSON.stringify(record),
    )
})

test('a name of any length is compared, and no pattern is made of it', () => {
  const name = 'f'.repeat(200_000)
  const code = `def ${name}(a):\n    return a`
  const { call } = read({ task_id: 1, text: 'Echo.', code, test_list: [`assert ${name}(1) == 1`] })
  assert.is(call.kind === 'function' && call.name, name)
  assert.equal(
    findCalls(`${name}(1)`, name).map(({ args }) => args),
    [[1]],
  )
})

test('1,000 hostile records give problems or clear errors', () => {
  const nasty = fc.oneof(
    fc.jsonValue(),
    fc.string(),
    fc.constantFrom('\0', '\ud800', '1e999', '../../etc/passwd', '[['.repeat(2000)),
  )
  const keys = Object.values(RECORDS).flatMap((record) => Object.keys(record))
  const damage = fc.record({
    base: fc.constantFrom<object>(...Object.values(RECORDS), {}),
    changes: fc.dictionary(fc.constantFrom(...keys), nasty, { maxKeys: 4 }),
    cut: fc.option(fc.nat(400)),
    junk: fc.string(),
  })
  fc.assert(
    fc.property(damage, ({ base, changes, cut, junk }) => {
      const whole = JSON.stringify({ ...base, ...changes })
      const text = cut === null ? whole : whole.slice(0, cut) + junk
      try {
        assert.ok(Array.isArray(parseRecord(JSON.parse(text), 'f').tests))
      } catch (error) {
        assert.ok(error instanceof RlError || error instanceof SyntaxError, `${error}`)
      }
    }),
    { numRuns: 1000 },
  )
})

test('programs and unit tests are read from the last blocks, with reasons where there are none', () => {
  assert.equal(parseProgram('x ```python\na\n``` y ```py\nb\r\nc\n```'), { program: 'b\nc\n' })
  assert.equal(parseProgram('```js\na\n```'), { reason: 'there is no Python block' })
  assert.equal(parseProgram('```python\nprint(1)'), { reason: 'the last Python block has no end' })
  assert.equal(parseProgram('```python\n \n```'), { reason: 'the last Python block is empty' })
  const answer =
    '**Test Input:**\n```\n9\n```\n**Test Input:**\n```text\n1 2\n3\n```\n\n**Test Output:** ```\n6\n```\n**Explanation:** ...'
  assert.equal(parseUnitTest(answer), { test: { input: '1 2\n3\n', output: '6\n' } })
  assert.equal(parseUnitTest('**Test Input**: 5\n**Test Output**: 6\n**Explanation** x'), {
    test: { input: '5\n', output: '6\n' },
  })
  assert.equal(parseUnitTest('**Test Output:** 1'), { reason: 'there is no "Test Input"' })
  assert.equal(parseUnitTest('**Test Input:**\n```\n\n```\n**Test Output:** 1'), {
    reason: 'the input is empty',
  })
})

test('a megabyte of blanks, or of the words of a form, is read at once', () => {
  const hostile = [
    `**Test Input${' '.repeat(1 << 20)}x`,
    `**Test Input:** 1 **Test Output:${' \t'.repeat(1 << 19)}`,
    'input '.repeat(1 << 17),
    `${'output '.repeat(1 << 16)}${'input '.repeat(1 << 16)}`,
  ]
  const begun = process.cpuUsage()
  for (const text of hostile) {
    assert.ok('reason' in parseUnitTest(text))
    assert.ok('reason' in readUnitTest(text))
  }
  // Processor time: it was hours.
  const { user } = process.cpuUsage(begun)
  assert.ok(user < 5e6, `${user / 1e6} s`)
  assert.equal(readUnitTest('input 1 output 2 input 3\n4 output 5 output 6\n'), {
    test: { input: '3\n4\n', output: '5 output 6\n' },
  })
})

test('a rewritten problem is the last JSON object and needs four tests', () => {
  const good = { question: 'q {', test_input: ['1', '2', '3', '4'], test_output: ['1', '2', '3', '4'] }
  const parsed = parseCandidate(`thinking {x} {"question": 1}\n\`\`\`json\n${JSON.stringify(good)}\n\`\`\``)
  assert.ok('candidate' in parsed && parsed.candidate.question === 'q {')
  assert.ok('reason' in parseCandidate(JSON.stringify({ ...good, test_input: ['1', '2', '3', ''] })))
  assert.ok('reason' in parseCandidate(JSON.stringify({ ...good, test_output: ['1'] })))
  assert.ok('reason' in parseCandidate('{'.repeat(100_000)))
})

test('1,000 hostile model outputs give programs, tests, candidates or reasons', () => {
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom(
      '```python\n',
      '```',
      '\n',
      '**Test Input:**',
      '**Test Output:**',
      '{"question":',
      '}',
      '"',
      '\0',
      '\ud800',
      '\\',
    ),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const text = pieces.join('')
      for (const parsed of [parseProgram(text), parseUnitTest(text), parseCandidate(text)])
        assert.is(Object.keys(parsed).length, 1)
    }),
    { numRuns: 1000 },
  )
})

test.run()
