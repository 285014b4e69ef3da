/** 10,000 malformed trees, task files, archives, images and messages: clear errors, nothing evaluated. */

import fc from 'fast-check'
import { RlError } from 'rlanything/kit'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { fromXml } from '../src/osworld/accessibility-xml.ts'
import { readDocument, writeDocument } from '../src/osworld/document.ts'
import { unsupportedIn } from '../src/osworld/evaluate.ts'
import { readWorkbook, writeWorkbook } from '../src/osworld/spreadsheet.ts'
import { readTaskFile } from '../src/osworld/task-file.ts'
import { isImage, pngSize } from '../src/screen/png.ts'

const RUNS = 2500
const KNOWN = ['desktop.xml', 'desktop.document', 'desktop.task']

/** It reads, or says why not. */
function clear(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    assert.ok(error instanceof RlError && KNOWN.includes(error.code), String(error))
  }
}

/** Some bytes of it changed, or cut off. */
const broken = (whole: Uint8Array) =>
  fc
    .tuple(fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 12 }), fc.nat(whole.length))
    .map(([changes, cut]) => {
      const bytes = Uint8Array.from(whole)
      for (const [at, value] of changes) bytes[at] = value
      return cut % 3 === 0 ? bytes.subarray(0, cut) : bytes
    })

const PARTS = [
  '<a ',
  '<',
  '>',
  '/>',
  '</a>',
  'name="x"',
  ' st:showing="true"',
  'cp:size="(1, 2)"',
  '&lt;',
  '&',
  '&#x110000;',
  '<!DOCTYPE a [',
  '<![CDATA[',
  ']]>',
  '<!--',
  '-->',
  '<?xml',
  'text',
  '\u0000',
]

test('trees', () => {
  const source = fc.array(fc.constantFrom(...PARTS), { maxLength: 24 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(source, (text) => clear(() => fromXml(text))),
    { numRuns: RUNS },
  )
})

test('task files', () => {
  const step = fc.record({
    type: fc.oneof(fc.constantFrom('launch', 'download', '__proto__'), fc.string()),
    parameters: fc.dictionary(fc.string(), fc.jsonValue()),
  })
  const source = fc.option(
    fc.record({
      type: fc.oneof(fc.constantFrom('rule', 'vm_file', 'cloud_file', 'constructor'), fc.string()),
      path: fc.oneof(fc.string(), fc.webUrl(), fc.constant('http://x/../../etc/passwd')),
    }),
  )
  const task = fc.oneof(
    fc.jsonValue(),
    fc.record({
      id: fc.oneof(fc.string(), fc.constant('../..')),
      instruction: fc.string(),
      config: fc.array(step, { maxLength: 3 }),
      evaluator: fc.record({
        func: fc.oneof(
          fc.constantFrom('exact_match', 'compare_table', 'toString'),
          fc.array(fc.string(), { maxLength: 2 }),
        ),
        result: fc.oneof(source, fc.array(source, { maxLength: 2 })),
        expected: source,
        options: fc.oneof(
          fc.constant({}),
          fc.dictionary(fc.string(), fc.jsonValue()),
          fc.constant({ rules: [{ type: '__proto__' }] }),
          fc.record({ rules: fc.array(fc.jsonValue(), { maxLength: 2 }) }),
        ),
      }),
    }),
  )
  fc.assert(
    fc.property(task, (value) => clear(() => unsupportedIn(readTaskFile(value, 'task'), '.'))),
    { numRuns: RUNS },
  )
})

test('workbooks and documents', () => {
  const book = broken(
    writeWorkbook([
      ['a', 1],
      ['b', 2],
    ]),
  )
  const letter = broken(writeDocument(['one', 'two']))
  fc.assert(
    fc.property(book, (bytes) => clear(() => readWorkbook(bytes))),
    { numRuns: RUNS / 2 },
  )
  fc.assert(
    fc.property(letter, (bytes) => clear(() => readDocument(bytes))),
    { numRuns: RUNS / 2 },
  )
})

test('images', () => {
  const head = Uint8Array.from([
    0x89,
    0x50,
    0x4e,
    0x47,
    0x0d,
    0x0a,
    0x1a,
    0x0a,
    0,
    0,
    0,
    13,
    0x49,
    0x48,
    0x44,
    0x52,
    ...Array(40).fill(1),
  ])
  fc.assert(
    fc.property(fc.oneof(broken(head), fc.uint8Array({ maxLength: 80 })), (bytes) => {
      assert.type(isImage(bytes), 'boolean')
      const size = pngSize(bytes)
      assert.ok(size === null || size.width > 0)
    }),
    { numRuns: RUNS },
  )
})

test.run()
