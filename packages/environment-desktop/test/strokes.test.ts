/** Portions of typed text, and the distance between two strokes of one key. */
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ACTION_DISTANCE_MS, KEY_DISTANCE_MS, keyDistances, strokes } from '../src/local/strokes.ts'

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
  distances.notePortion({ type: 'type', text: 'a8' })
  now += 50
  assert.is(distances.untilPortionMs({ type: 'press', keys: ['A'] }), KEY_DISTANCE_MS - 50)
  assert.is(distances.untilPortionMs({ type: 'type', text: 'x*' }), KEY_DISTANCE_MS - 50)
  assert.is(distances.untilPortionMs({ type: 'type', text: 'xyz' }), 0)
  now += KEY_DISTANCE_MS
  assert.is(distances.untilPortionMs({ type: 'type', text: 'a8' }), 0)
})

test('a portion has few characters without a key of their own', () => {
  const text = Array.from({ length: 20 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('')
  assert.equal(
    strokes({ type: 'type', text }).map((one) => (one.type === 'type' ? one.text.length : 0)),
    [8, 8, 4],
  )
})

test('keys keep a distance from an action before them, but text follows text and the pointer follows anything', () => {
  let now = 1_000
  const distances = keyDistances(() => now)
  const [text, key] = [
    { type: 'type', text: 'ab' },
    { type: 'press', keys: ['f2'] },
  ] as const
  const click = { type: 'click', at: null, button: 'left', count: 1 } as const
  assert.is(distances.untilActionMs(key), 0)
  for (const [before, after, wait] of [
    [key, key, true],
    [key, text, true],
    [click, key, true],
    [text, key, true],
    [text, text, false],
    [key, click, false],
  ] as const) {
    distances.noteAction(before)
    now += 50
    assert.is(
      distances.untilActionMs(after),
      wait ? ACTION_DISTANCE_MS - 50 : 0,
      `${after.type} after ${before.type}`,
    )
    now += ACTION_DISTANCE_MS
    assert.is(distances.untilActionMs(after), 0)
  }
})

test.run()
