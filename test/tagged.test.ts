import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cutAtTags } from '../src/tagged.ts'

test('a text is cut at closed tags; a body ends at the first end, and what is not closed is text', () => {
  assert.equal(cutAtTags('a<t>b</t>c<t>d</t>', 't'), { between: ['a', 'c', ''], bodies: ['b', 'd'] })
  assert.equal(cutAtTags('a<t>b', 't'), { between: ['a<t>b'], bodies: [] })
  assert.equal(cutAtTags('a<t>b<t>c</t></t>', 't'), { between: ['a', '</t>'], bodies: ['b<t>c'] })
  assert.equal(cutAtTags('</t><t></t>', 't'), { between: ['</t>', ''], bodies: [''] })
})

test('what is cut put together again is the text', () => {
  const pieces = fc.array(fc.constantFrom('<t>', '</t>', '<t', '>', 'x', '\n'), { maxLength: 40 })
  fc.assert(
    fc.property(pieces, (parts) => {
      const text = parts.join('')
      const { between, bodies } = cutAtTags(text, 't')
      assert.is(between.length, bodies.length + 1)
      assert.is(between.map((words, i) => words + (i in bodies ? `<t>${bodies[i]}</t>` : '')).join(''), text)
    }),
  )
})

test('a text of open tags, or of empty lines behind one, is read in one pass', () => {
  for (const text of ['<t>'.repeat(3e5), `<t>${'\n'.repeat(1e6)}`, `${'<t>'.repeat(3e5)}</t>`])
    assert.ok(cutAtTags(text, 't').bodies.length <= 1)
})

test.run()
