/** Portions of typed text, and the distance between two strokes of one key. */
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { KEY_DISTANCE_MS, keyDistances, strokes } from '../src/local/strokes.ts'

test('no portion strikes a key twice, and all portions together are the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'aAbB18!*\n\t /?'), maxLength: 40 }), (text) => {
      const portions = strokes({ type: 'type', text }).map((one) => (one.type === 'type' ? one.text : ''))
      assert.is(portions.join(''), text)
      for (const portion of portions) {
        const keys = [...portion.toLowerCase().replaceAll('!', '1').replaceAll('*', '8').replaceAll('?', '/')]
        assert.is(new Set(keys).size, keys.length, JSON.stringify(portions))
      }
    }),
  )
})

test('an end of a line and a tab come alone', () => {
  assert.equal(strokes({ type: 'type', text: 'ab\nc\t' }), [
    { type: 'type', text: 'ab' },
    { type: 'type', text: '\n' },
    { type: 'type', text: 'c' },
    { type: 'type', text: '\t' },
  ])
})

test('a key waits for its distance, over actions and with shift too; other keys do not wait', () => {
  let now = 1_000
  const distances = keyDistances(() => now)
  distances.note({ type: 'type', text: 'a8' })
  now += 50
  assert.is(distances.waitMs({ type: 'press', keys: ['A'] }), KEY_DISTANCE_MS - 50)
  assert.is(distances.waitMs({ type: 'type', text: 'x*' }), KEY_DISTANCE_MS - 50)
  assert.is(distances.waitMs({ type: 'type', text: 'xyz' }), 0)
  now += KEY_DISTANCE_MS
  assert.is(distances.waitMs({ type: 'type', text: 'a8' }), 0)
})

test.run()
