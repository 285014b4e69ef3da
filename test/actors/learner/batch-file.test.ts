import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type BatchFile, decodeBatch, encodeBatch } from '../../../src/actors/learner/batch-file.ts'
import { RlError } from '../../../src/errors.ts'
import { int32Column } from '../../../src/events/columns.ts'
import { pack, unpackUntrusted } from '../../../src/events/msgpack.ts'

const sample = {
  ...{ id: '3/slot/0#0', policyVersion: 2, tokens: Int32Array.of(5, 6, 7), mask: Uint8Array.of(0, 1, 1) },
  ...{ logprobs: Float32Array.of(0, -1, -2), advantages: Float32Array.of(0, 1, 1) },
}
const referenceLogprobs = Float32Array.of(0, -1.5, -2.5)
const allowed = { offsets: Int32Array.of(0, 0, 2, 2), tokens: Int32Array.of(6, 8) }
const batch: BatchFile = {
  ...{ run: 'r', version: 3, parentVersion: 2 },
  samples: [
    sample,
    { ...sample, id: '3/slot/1#0', referenceLogprobs, allowed, stepStarts: Int32Array.of(0, 2) },
  ],
}

test('a batch comes back as it was', () => {
  assert.equal(decodeBatch(encodeBatch(batch)), batch)
})

test('columns that do not belong together are refused by name', () => {
  for (const [changes, message] of [
    [{ tokensI32: int32Column([5, 6]) }, /3\/slot\/1#0 of the batch: tokensI32 has 8 bytes for 3 tokens/],
    [{ logprobsF32: new Uint8Array(13) }, /logprobsF32 has 13 bytes/],
    [{ advantagesF32: new Uint8Array(0) }, /advantagesF32 has 0 bytes/],
    [{ referenceLogprobsF32: new Uint8Array(4) }, /referenceLogprobsF32 has 4 bytes/],
    [{ stepStartsI32: int32Column([0, 3]) }, /stepStartsI32 has 3 at 1, of 3 tokens/],
    [{ stepStartsI32: int32Column([1, 1]) }, /stepStartsI32 has 1 at 1/],
    [{ stepStartsI32: int32Column([-1]) }, /stepStartsI32 has -1 at 0/],
    [{ stepStartsI32: int32Column([2]) }, /token 1 is trained, and of no step/],
    [{ stepStartsI32: int32Column([]) }, /stepStartsI32 has 0|token 1 is trained/],
    [{ allowedI32: undefined }, /belong together/],
    [{ allowedOffsetsI32: undefined }, /belong together/],
    [{ allowedOffsetsI32: int32Column([0, 0, 2]) }, /allowedOffsetsI32 has 12 bytes/],
    [{ allowedOffsetsI32: int32Column([1, 1, 2, 2]) }, /begins with 1/],
    [{ allowedOffsetsI32: int32Column([0, 2, 0, 2]) }, /falls at 2/],
    [{ allowedOffsetsI32: int32Column([0, 0, 1, 1]) }, /ends with 1, allowedI32 has 8 bytes/],
    [{ allowedOffsetsI32: int32Column([0, 0, 2, 3]) }, /ends with 3/],
  ] as const) {
    const file = unpackUntrusted(encodeBatch(batch)) as { segments: object[] }
    const segment = Object.entries({ ...file.segments[1], ...changes }).filter(([, value]) => value)
    const forged = pack({ ...file, segments: [file.segments[0], Object.fromEntries(segment)] })
    assert.throws(
      () => decodeBatch(forged),
      (error: unknown) =>
        error instanceof RlError && error.code === 'batch.bad-file' && message.test(error.message),
    )
  }
})

test.run()
