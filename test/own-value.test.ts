import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ownValue } from '../src/own-value.ts'

test('keys of every object are no keys of a record', () => {
  const record = { a: 1 }
  assert.is(ownValue(record, 'a'), 1)
  for (const key of ['b', 'constructor', 'toString', '__proto__', 'hasOwnProperty'])
    assert.is(ownValue(record, key), undefined)
})

test('a record without a prototype has its keys', () => {
  assert.is(ownValue(Object.assign(Object.create(null), { a: 1 }), 'a'), 1)
})

test.run()
