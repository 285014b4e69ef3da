import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { spans } from '../../../src/models/local/spans.ts'
import { pack } from '../../../src/models/local/transformer.ts'

test('packed sequences are where their spans say', () => {
  const sequences = fc.array(fc.array(fc.nat(9), { minLength: 1, maxLength: 5 }), { maxLength: 4 })
  fc.assert(
    fc.property(sequences, (given) => {
      const { tokens, offsets } = pack(given)
      assert.equal(
        spans(offsets).map(([first, end]) => [...tokens.subarray(first, end)]),
        given,
      )
    }),
  )
})

test('without a sequence there is no span', () => {
  assert.equal(spans(Int32Array.of(0)), [])
  assert.equal(spans(new Int32Array(0)), [])
})

test.run()
