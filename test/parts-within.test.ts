import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { partsWithin } from '../src/parts-within.ts'

test('parts hold all items in order, fit, and none could take the next item', () => {
  const sum = (sizes: readonly number[]) => sizes.reduce((total, size) => total + size, 0)
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 20 })), fc.integer({ min: 1, max: 30 }), (sizes, most) => {
      const parts = partsWithin(sizes, (size) => size, most)
      assert.equal(parts.flat(), sizes)
      for (const [i, part] of parts.entries()) {
        assert.ok(part.length === 1 || sum(part) <= most)
        const [next] = parts[i + 1] ?? []
        if (next !== undefined) assert.ok(sum(part) + next > most)
      }
    }),
  )
})

test.run()
