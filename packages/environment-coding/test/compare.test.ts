import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { matches, TOKENS, tokensOf } from '../src/compare.ts'
import { createExecutor } from '../src/executor.ts'
import { parseRecord } from '../src/formats.ts'
import { grade } from '../src/grade.ts'
import { limitsOf, STDIO } from '../src/problem.ts'
import { equalValues, type PythonValue } from '../src/python-value.ts'
import { openProvider } from './sandboxes.ts'

type Spec = Parameters<typeof matches>[0]
const FLOAT: Spec = { kind: 'float', absolute: 1e-6, relative: 1e-6 }

const TABLE: readonly [Spec | typeof TOKENS, string, string, boolean][] = [
  [TOKENS, '1 2\n3\n', '1  2 3', true],
  [TOKENS, 'Yes', 'yes', false],
  [TOKENS, '1.0', '1', false],
  [TOKENS, '1', '', false],
  [TOKENS, 'Timeout Error', 'Timeout Error', true],
  [TOKENS, 'a\u00a0b', 'a b', true],
  [{ kind: 'exact' }, 'a  b\n', 'a b\n', false],
  [{ kind: 'exact' }, 'a b\nc\n', 'a b  \r\nc', true],
  [FLOAT, '0.3333333', '0.33333335', true],
  [FLOAT, '1000000', '1000000.5', false],
  [FLOAT, '1000000.0', '1000000.5', true],
  [FLOAT, '1', '1.1', false],
  [FLOAT, 'nan', 'NaN', false],
  [FLOAT, '1e3 x', '1000 x', true],
  [FLOAT, '0x10', '16', false],
  [{ kind: 'json' }, '[1,2.0,{"a":"b"}]', 'debug\n[1, 2, {"a": "b"}]\n', true],
  [{ kind: 'json' }, '"a b"', '"a  b"', false],
  [{ kind: 'json' }, 'true', '1', false],
  [{ kind: 'json' }, '[[0, {"a": false}]]', '[[false, {"a": 0}]]', false],
  [{ kind: 'json' }, '[0]', '[-0.0]', true],
  [{ kind: 'json' }, '[null]', '[0]', false],
  [{ kind: 'json' }, '["1"]', '[1]', false],
  [{ kind: 'json' }, '[2]', '[2.00]', true],
  [{ kind: 'json' }, '[2]', '[2.0000000001]', false],
  [{ kind: 'json' }, '[2.0]', '[2.0000000001]', true],
  [{ kind: 'json' }, '[1e18]', '[1000000000000000001]', true],
  [{ kind: 'json' }, '[1000000000000000001]', '[1e18]', false],
  [{ kind: 'json' }, '1000000006', '1000000005', false],
  [{ kind: 'json' }, '12345678901234567891', '12345678901234567890', false],
  [{ kind: 'json' }, '[9007199254740993]', '[9007199254740992]', false],
  [{ kind: 'json' }, '[0.5, 9007199254740993]', '[0.5000000000001, 9007199254740992]', false],
  [{ kind: 'json' }, '[0.5, 9007199254740993]', '[0.5000000000001, 9007199254740993]', true],
  [{ kind: 'json' }, '[0.1]', '[0.1000000000001]', true],
  [{ kind: 'json' }, '7'.repeat(9000), `x\n${'7'.repeat(9000)} `, true],
  [{ kind: 'json' }, '7'.repeat(9000), '7'.repeat(9001), false],
  [FLOAT, '1000000006', '1000000005', false],
  [FLOAT, '1000000006', '1000000005.0', false],
  [FLOAT, '123456789012.0', '123456789013.0', true],
  [FLOAT, '1000000006', '1000000006.0', true],
  [FLOAT, '1000000006', '1000000005.9', false],
  [FLOAT, '1e999', '5.5', false],
  [FLOAT, '1e999', '1e999', true],
  [{ kind: 'json' }, '[1e999, 0.5]', '[5.5, 0.5]', false],
  [{ ...FLOAT, caseless: true } as Spec, 'YES 1.50', 'yes 1.5', true],
  [FLOAT, '18446744073709551616', '18446744073709551617.00', false],
  [FLOAT, '18446744073709551616', '18446744073709551616.00', true],
  [FLOAT, '-70000000000000000000', '-7e19', true],
  [FLOAT, '-70000000000000000001', '-7e19', false],
  [FLOAT, '7', '7.0000000001', false],
  [FLOAT, '7', '+07.', true],
  [FLOAT, '0', '-0.000', true],
  [FLOAT, '7'.repeat(5000), `${'7'.repeat(5000)}.0`, true],
  [FLOAT, '7'.repeat(5000), `${'7'.repeat(4999)}8`, false],
  [FLOAT, '1e999', '10e998', true],
  [FLOAT, '1.5e999', '2.5e999', false],
  [FLOAT, '1e-999', '3e-999', true],
  [{ kind: 'float', absolute: 0, relative: 0.1 }, '1.5e-999', '1.6e-999', true],
  [{ kind: 'float', absolute: 0, relative: 0.1 }, '1.5e-999', '1.7e-999', false],
  [{ kind: 'float', absolute: 0, relative: 0.1 }, '1e-999999999', '1e999999999', false],
  [{ kind: 'float', absolute: 0.1, relative: 0 }, '0.3', '0.4', true],
  [{ kind: 'float', absolute: 0.1, relative: 0 }, '0.3', '0.4000000000000000000001', false],
  [{ kind: 'float', absolute: 1e-5, relative: 0, wholesToo: true }, '4', '4.00001', true],
  [{ kind: 'float', absolute: 1e-5, relative: 0, wholesToo: true }, '4', '4.000011', false],
  [
    { kind: 'float', absolute: 1e-5, relative: 0, wholesToo: true },
    '9007199254740993',
    '9007199254740992',
    false,
  ],
  [{ kind: 'lines' }, '1', '\ufeff1', false],
  [{ kind: 'lines' }, 'a\u001c\nb', 'a\nb\u0085', true],
  [{ kind: 'last-line' }, 'x', '\ufeffx', false],
  [{ kind: 'exact' }, 'x', 'x\ufeff', false],
  ...(['tokens', 'exact', 'lines', 'json', 'last-line'] as const).flatMap(
    (kind): [Spec, string, string, boolean][] => [
      [{ kind }, '', '', true],
      [{ kind }, '\n', '', true],
      [{ kind }, '', ' \n\n', true],
      [{ kind }, '', '0', false],
    ],
  ),
  [{ kind: 'lines' }, '1.0\nYes\n', ' 1.00 \nYes', true],
  [{ kind: 'lines' }, '1 2', '1\n2', false],
  [{ kind: 'lines' }, 'Yes', 'yes', false],
  [{ kind: 'last-line' }, '(1, 2,)', 'noise\n(1, 2,)\n', true],
]

test('the table of comparisons', () => {
  for (const [spec, expected, output, same] of TABLE)
    assert.is(
      matches(spec as Spec, expected, output),
      same,
      `${JSON.stringify(spec)} ${expected} ~ ${output}`,
    )
})

test('CodeContests takes an absolute difference of 1e-5, in either case, and APPS what allclose takes', () => {
  const contests = parseRecord(
    { name: 'c', description: 'q', public_tests: { input: ['1\n'], output: ['1\n'] } },
    'here',
  )
  const apps = parseRecord({ question: 'q', input_output: { inputs: ['1'], outputs: ['1'] } }, 'here')
  for (const [problem, expected, output, same] of [
    [contests, '7000000.25', '7000000.26', false],
    [contests, '7000000.25', '7000000.250009', true],
    [contests, '-0.5', '-0.500011', false],
    [contests, '3', '2.999995', true],
    [contests, '800000000000', '800000000001', false],
    [contests, 'YES 2', 'yes 2.0', true],
    [apps, '0.0', '0.0000005', false],
    [apps, '7000000.25', '7000001.25', true],
    [apps, '7000000', '7000001', false],
  ] as const)
    assert.is(matches(problem.comparator as Spec, expected, output), same, `${expected} ~ ${output}`)
})

test('tokens ignore white space and nothing else', () => {
  const token = fc.stringMatching(/^[!-~]{1,5}$/)
  const space = fc.stringMatching(/^[ \t\n\r]{1,3}$/)
  fc.assert(
    fc.property(fc.array(token), space, space, (tokens, a, b) => {
      assert.equal(tokensOf(tokens.join(a)), tokens)
      assert.ok(matches(TOKENS as Spec, `${tokens.join(a)}${b}`, `${b}${tokens.join(b)}`))
      assert.not.ok(matches(TOKENS as Spec, tokens.join(a), [...tokens, 'x'].join(a)))
    }),
  )
})

test('every rule reads a hostile megabyte in linear time', () => {
  const size = 1 << 20
  const hostile = [
    '1'.repeat(size),
    `${'1'.repeat(size)}x`,
    `${' '.repeat(size)}x`,
    `${' \t'.repeat(size / 2)}\nx`,
    '1 '.repeat(size / 2),
    '\n'.repeat(size),
    '['.repeat(size),
    '"'.repeat(size),
    `"${'\\"'.repeat(size / 2)}`,
    `1e${'9'.repeat(size)}`,
    '0.'.repeat(size / 2),
    '-'.repeat(size),
  ]
  const text = fc.oneof(
    fc.constantFrom(...hostile),
    fc
      .tuple(fc.stringMatching(/^[ \t\n0-9x.e"[\\-]{1,6}$/), fc.stringMatching(/^[x1\n ]{0,2}$/))
      .map(([part, end]) => part.repeat(size / part.length) + end),
  )
  const rules: Spec[] = [
    ...(['tokens', 'exact', 'lines', 'json', 'last-line'] as const).map((kind): Spec => ({ kind })),
    FLOAT,
  ]
  /** Processor time. A quadratic rule needs minutes, a linear one some 30 ms on an idle machine. */
  const timeMs = (action: () => void) => {
    const begun = process.cpuUsage()
    action()
    return process.cpuUsage(begun).user / 1000
  }
  fc.assert(
    fc.property(text, fc.constantFrom(...rules), (output, spec) => {
      const ms = timeMs(() => matches(spec, `${output.slice(0, -1)}y`, output))
      assert.ok(ms < 5000, `${JSON.stringify(spec)} took ${ms} ms for ${JSON.stringify(output.slice(0, 20))}`)
    }),
    { numRuns: 60 },
  )
})

test('what is expected of numbers costs as their texts do, however large their values are', () => {
  const least = (work: () => unknown) => {
    const tries = [1, 2, 3].map(() => {
      const begun = process.cpuUsage()
      work()
      return process.cpuUsage(begun).user / 1000
    })
    return Math.min(...tries)
  }
  const list = (item: string) => `[${new Array(150_000).fill(item).join(',')}]`
  const value = (...items: PythonValue[]): PythonValue => ['l', ...new Array(30_000).fill(items).flat()]
  const deep = (levels: number) => {
    let inner: PythonValue = 'x'.repeat(1 << 20)
    for (let i = 0; i < levels; i++) inner = ['d', ['a', inner]]
    return inner
  }
  const json = (expected: string, output: string) => () => matches({ kind: 'json' }, expected, output)
  const words = (expected: string, output: string) => () =>
    matches(FLOAT, `${expected} `.repeat(100_000), `${output} `.repeat(100_000))
  const equal = (one: PythonValue, other: PythonValue) => () => equalValues(one, other)
  // Large values, and small ones of as long texts.
  const works: Readonly<Record<string, readonly [() => unknown, () => unknown]>> = {
    'another list of large floats': [json('[4]', list('8e300')), json('[4]', list('8e000'))],
    'the same list of large floats': [
      json(list('8e300'), list('8.0e300')),
      json(list('8e000'), list('8.0e000')),
    ],
    words: [
      words('1.5e999', '1.5000000000000000000000001e999'),
      words('1.5e000', '1.5000000000000000000000001e000'),
    ],
    floats: [
      equal(value(['f', '1.7e308'], ['f', '5e-324']), value(['f', '1.7e308'])),
      equal(value(['f', '1.7e000'], ['f', '5e-000']), value(['f', '1.7e000'])),
    ],
    decimals: [
      equal(value(['m', '9e307'], ['m', '1e-1000']), value(['m', '9e307'])),
      equal(value(['m', '9e000'], ['m', '1e-0000']), value(['m', '9e000'])),
    ],
    'a deep value': [equal(deep(400), deep(400)), equal(deep(4), deep(4))],
  }
  // Processor time of both in one run. Words that no double holds cost eight times as much.
  for (const [what, [large, small]] of Object.entries(works)) {
    const [took, asTexts] = [least(large), Math.max(20, least(small))]
    assert.ok(took < 25 * asTexts, `${what} took ${took} ms, and small values ${asTexts} ms`)
  }
})

test('a number of millions of digits is compared as it is written', () => {
  const digits = '7'.repeat(1 << 24)
  const begun = process.cpuUsage()
  assert.ok(matches({ kind: 'json' }, digits, `${digits}\n`))
  assert.not.ok(matches({ kind: 'json' }, digits, `${digits}7`))
  const { user } = process.cpuUsage(begun)
  // Processor time: it was a minute.
  assert.ok(user < 5e6, `${user / 1e6} s`)
})

test('a checker program decides in a sandbox of its own', async () => {
  const provider = await openProvider('bwrap')
  if (!provider) return
  const executor = createExecutor({ provider })
  const program =
    "import json, sys\ndata = json.loads(input())\nsys.exit(0 if sorted(data['output'].split()) == sorted(data['expected'].split()) else 1)"
  const problem = { limits: limitsOf(2), comparator: { kind: 'checker' as const, program }, call: STDIO }
  const tests = [{ input: '1\n', output: '3 2 1' }]
  const grades = await grade(executor, [
    { problem, program: "print('1 2 3')", tests },
    { problem, program: "print('1 2 2')", tests },
  ])
  assert.equal(
    grades.flat().map(({ passed }) => passed),
    [true, false],
  )
  await executor.close()
})

test.run()
