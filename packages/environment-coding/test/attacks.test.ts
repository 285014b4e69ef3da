import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ATTACKS } from '../src/attacks.ts'
import { contains } from './attack-trials.ts'

test('there are sixty attacks and more, each with a name of its own', () => {
  assert.ok(ATTACKS.length >= 60)
  assert.is(new Set(ATTACKS.map(({ name }) => name)).size, ATTACKS.length)
})

contains('bwrap')

test.run()
