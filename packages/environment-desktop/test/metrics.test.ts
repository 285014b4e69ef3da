/** Metrics and getters by recorded cases: what was found, what the task says, and the score. */
import { RlError } from 'rlanything/kit'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readDocument, writeDocument } from '../src/osworld/document.ts'
import { unsupportedIn } from '../src/osworld/evaluate.ts'
import type { Found } from '../src/osworld/getters.ts'
import { METRICS } from '../src/osworld/metrics/index.ts'
import { readWorkbook, writeWorkbook } from '../src/osworld/spreadsheet.ts'
import { readTaskFile } from '../src/osworld/task-file.ts'
import { writeZip } from '../src/osworld/zip.ts'

type Case = readonly [
  result: Found,
  expected: Found,
  score: number,
  options?: Readonly<Record<string, unknown>>,
]

const bytes = (text: string) => Buffer.from(text)
const BOOK = writeWorkbook([
  ['a', 1],
  ['b', 2.00001],
])
const OTHER = writeWorkbook([['a', 1]])
const LETTER = writeDocument(['Dear  all', '', 'Bye'])
const rules = (...list: readonly object[]) => ({ rules: list })
const data = { type: 'sheet_data', sheet_idx0: 'RI0', sheet_idx1: 'EI0' }
const cell = (method: string, ref: unknown) => ({
  type: 'check_cell',
  sheet_idx: 0,
  coordinate: 'B1',
  props: { value: { method, ref } },
})
/** A text document with one row of cells. */
const table = (...cells: readonly string[]) =>
  writeZip({
    'content.xml': `<o><office:text><table:table><table:table-row>${cells
      .map((text) => `<table:table-cell><text:p>${text}</text:p></table:table-cell>`)
      .join('')}</table:table-row></table:table></office:text></o>`,
  })
const empty = (method: string, ref: unknown) => ({ ...cell(method, ref), coordinate: 'Z9' })

const CASES: Readonly<Record<string, readonly Case[]>> = {
  exact_match: [
    ['a\n', { expected: 'a\n' }, 1],
    ['a', { expected: 'a\n' }, 0],
    [null, { expected: 'a' }, 0],
  ],
  check_include_exclude: [
    ['hello world', { include: ['hello'], exclude: ['bye'] }, 1],
    ['hello bye', { include: ['hello'], exclude: ['bye'] }, 0],
    [null, { include: [] }, 0],
  ],
  check_list: [
    [bytes('one 1\ntwo 2'), { expect: ['^one \\d'], unexpect: ['three'] }, 1],
    [bytes('one'), { expect: ['two'] }, 0],
    [bytes('one'), { expect: ['one'], unexpect: ['o'] }, 0],
    [bytes('one\r\ntwo\n'), { expect: ['^one$'], unexpect: ['^\\s*$'] }, 1],
  ],
  check_json_settings: [
    [bytes('{"a": 1, "b": [2]}'), { expected: { b: [2] } }, 1],
    [bytes('{"a": 1}'), { expected: { a: 2 } }, 0],
    [bytes('no json'), { expected: { a: 2 } }, 0],
  ],
  check_direct_json_object: [
    ["{'a': 'x'}", { expected: { a: 'x' } }, 1],
    [{ a: ['x', 'y'] }, { expected: { a: ['y', 'x'] }, ignore_list_order: true }, 1],
    [{ a: ['x', 'y'] }, { expected: { a: ['z'] }, expect_in_result: true }, 0],
    [{ a: 'xyz' }, { expected: { a: 'y' }, expect_in_result: true }, 1],
    [{ a: ['x', 'y'] }, { expected: { a: 'y' }, expect_in_result: true }, 1],
    [{ a: ['x', 'yz'] }, { expected: { a: 'y' }, expect_in_result: true }, 0],
    [{ a: 7 }, { expected: { a: '7' }, expect_in_result: true }, 0],
    [{ a: 'x' }, { expected: { a: ['w', 'x'] }, expect_in_result: true }, 1],
    [{}, { expected: { a: ['w', 'x'] }, expect_in_result: true }, 0],
  ],
  check_json: [
    [bytes('{"a": {"b": 3}}'), { expect: [{ key: ['a', 'b'], method: 'ge', ref: 3 }] }, 1],
    [bytes('{"a": {"b": 3}}'), { unexpect: [{ key: ['a', 'b'], method: 're', ref: '^3$' }] }, 0],
    [bytes('{}'), { expect: [{ key: ['__proto__'], method: 'ne', ref: 1 }] }, 0],
    ...(['null', '""', '[]', 'true', '"1"'] as const).flatMap((text) =>
      ['lt', 'le'].map(
        (method): Case => [bytes(`{"a": ${text}}`), { expect: [{ key: ['a'], method, ref: 2 }] }, 0],
      ),
    ),
    [bytes('{"a": null}'), { expect: [{ key: ['a'], method: 're', ref: 'l' }] }, 0],
    [bytes('{}'), { expect: [{ key: ['a'], method: 'ne', ref: 1 }] }, 0],
    [bytes('{}'), { unexpect: [{ key: ['a'], method: 'ne', ref: 1 }] }, 0],
    [bytes('{}'), { unexpect: [{ key: ['a'], method: 'eq', ref: 1 }] }, 1],
    [bytes('{"a": "Dark"}'), { expect: [{ key: ['a'], method: 're.IGNORECASE', ref: 'dark' }] }, 1],
    [bytes('{"a": "\'x,y\'"}'), { expect: [{ key: ['a'], method: 'str_list_eq', ref: ['x', 'y'] }] }, 1],
  ],
  compare_text_file: [
    [bytes('a  b\n'), bytes('a b'), 0],
    [bytes('a  b\n'), bytes('a b'), 1, { ignore_blanks: true }],
    [bytes('A'), bytes('a'), 1, { ignore_case: true }],
    [bytes('a\nb\n'), bytes('a\r\nb\r\n'), 1],
    [null, null, 0],
  ],
  compare_csv: [
    [bytes('a,b\r\n1,2\r\n'), bytes('a,b\n1,2'), 1],
    [bytes('a,b '), bytes('a,b'), 0],
    [bytes('a,b '), bytes('a,B'), 1, { strict: false, ignore_case: true }],
  ],
  is_extension_installed: [
    ['ms-python.python\nx.y\n', { type: 'contain', expected: 'ms-python.python' }, 1],
    ['x.y\n', { type: 'contain', expected: 'ms-python.python' }, 0],
    ['x.y\n', { type: 'not_contain', expected: 'ms-python.python' }, 1],
    ['ms-python.python\n', { type: 'not_contain', expected: 'ms-python.python' }, 0],
    [null, { type: 'not_contain', expected: 'ms-python.python' }, 0],
  ],
  compare_config: [
    [bytes('x=1'), { expected: 'x=1' }, 1],
    [bytes('x=2'), { expected: 'x=1' }, 0],
  ],
  file_contains: [
    [bytes('abc'), { expected: ['a', 'c'] }, 1],
    [bytes('abc'), { expected: ['d'] }, 0],
  ],
  match_in_list: [
    ['b', { expected: ['a', 'b'] }, 1],
    ['c', { expected: ['a', 'b'] }, 0],
  ],
  literal_match: [
    ['A', 'a', 0],
    ['A', 'a', 1, { ignore_case: true }],
  ],
  is_utc_0: [
    ['  Time zone: Etc/UTC (UTC, +0000)\n', null, 1],
    ['Time zone: Europe/Zurich (CET, +0100)', null, 0],
  ],
  compare_docx_files: [
    [LETTER, writeDocument(['Dear all', 'Bye']), 1],
    [LETTER, writeDocument(['Dear all', 'Bye']), 0, { ignore_blanks: false }],
    [bytes('no archive'), LETTER, 0],
  ],
  compare_docx_tables: [
    [LETTER, LETTER, 1],
    [table('a ', 'b'), table('a', 'b'), 1],
    [table('a', 'b'), table('a', 'c'), 0],
  ],
  compare_table: [
    [
      BOOK,
      writeWorkbook([
        ['a', 1],
        ['b', 2.00002],
      ]),
      1,
      rules(data),
    ],
    [BOOK, OTHER, 0, rules(data)],
    [
      BOOK,
      writeWorkbook([
        ['a', 1],
        ['b', 2.04],
      ]),
      0,
      rules(data),
    ],
    [
      BOOK,
      writeWorkbook([
        ['a', 1],
        ['b', 2.04],
      ]),
      1,
      rules({ ...data, precision: 1 }),
    ],
    [BOOK, null, 1, rules(cell('eq', 1), cell('approx:0.5', 1.2))],
    [BOOK, null, 0, rules(cell('gt', 1))],
    [BOOK, null, 1, rules(cell('approx:0.5', 1.5))],
    [BOOK, null, 0, rules({ type: 'freeze', sheet_idx0: 'RI5', sheet_idx1: 'EI0' })],
    [BOOK, null, 0, rules(empty('lt', 5))],
    [BOOK, null, 0, rules(empty('approx:1', 0.5))],
    [BOOK, null, 0, rules(empty('re', '^[a-z]+$'))],
    [null, null, 0, rules(data)],
    [bytes('no archive'), BOOK, 0, rules(data)],
    [LETTER, BOOK, 0, rules(data)],
    [BOOK, OTHER, 1, rules({ type: 'sheet_name' }, { type: 'freeze', sheet_idx0: 'RI0', sheet_idx1: 'EI0' })],
  ],
}

for (const [name, cases] of Object.entries(CASES))
  test(`the metric ${name}`, () => {
    for (const [result, expected, wanted, options = {}] of cases)
      assert.is(
        METRICS[name](result, expected, options),
        wanted,
        `${name} of ${JSON.stringify(result)?.slice(0, 60)}`,
      )
  })

test('every metric has cases', () => assert.equal(Object.keys(CASES).sort(), Object.keys(METRICS).sort()))

test('what we write is what we read', () => {
  assert.equal(readDocument(LETTER), { paragraphs: ['Dear  all', '', 'Bye'], tables: [] })
  const [sheet] = readWorkbook(BOOK)
  assert.equal(
    [...sheet.values],
    [
      ['A1', 'a'],
      ['B1', 1],
      ['A2', 'b'],
      ['B2', 2.00001],
    ],
  )
})

test("rules and expected files that cannot be read are the task's fault and no outcome", () => {
  for (const [name, expected, options] of [
    ['exact_match', null, {}],
    ['check_list', { expect: ['('] }, {}],
    ['compare_table', null, {}],
    ['compare_table', null, rules({ type: 'pivot_table' })],
    ['compare_table', bytes('no archive'), rules(data)],
    ['compare_docx_files', bytes('no archive'), {}],
  ] as const)
    assert.throws(
      () => METRICS[name](BOOK, expected, options),
      (error: unknown) => error instanceof RlError && error.code === 'desktop.task',
    )
})

test('a task that asks a metric for what it does not do is not played', () => {
  const missing = (func: string, options: object, rules: object = {}) => {
    const evaluator = { func, options, expected: { type: 'rule', rules } }
    return unsupportedIn(readTaskFile({ id: 'a', instruction: 'b', evaluator }, 'a'), null)
  }
  assert.equal(missing('check_json', { is_yaml: true }), ['check_json.is_yaml'])
  assert.equal(missing('check_list', {}, { expect: ['a++'], unexpect: ['b'] }), ['pattern a++'])
  const json = { expect: [{ key: ['k'], method: 're', ref: '(?>a)' }] }
  assert.equal(missing('check_json', {}, json), ['pattern (?>a)'])
  assert.equal(
    missing('compare_docx_files', { content_only: true, ignore_blanks: false, fuzzy_match: false }),
    ['compare_docx_files.content_only'],
  )
  assert.equal(missing('check_json', {}, { expect: [{ key: ['a'], method: 'range.te', ref: [0, 1] }] }), [
    'check_json.range.te',
  ])
  assert.equal(missing('compare_table', rules(cell('re.X', 'a'))), ['compare_table.check_cell.re.X'])
  assert.equal(missing('compare_table', rules(cell('approx:0.001', 1), cell('re.I', 'a'))), [])
})

test.run()
