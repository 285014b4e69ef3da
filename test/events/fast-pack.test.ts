/** The fast encoder writes what the library writes. */
import { Encoder } from '@msgpack/msgpack'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { packFast } from '../../src/events/fast-pack.ts'
import { pack, packCanonical, unpackUntrusted } from '../../src/events/msgpack.ts'

const library = new Encoder({ ignoreUndefined: true })
const sorting = new Encoder({ ignoreUndefined: true, sortKeys: true })

function assertSame(value: unknown): void {
  assert.equal(Buffer.from(packFast(value, false) ?? []), Buffer.from(library.encode(value)))
  assert.equal(Buffer.from(packFast(value, true) ?? []), Buffer.from(sorting.encode(value)))
}

const number = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double(),
  fc.constantFrom(
    ...[0, -0, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x10000, 0xffffffff, 0x100000000, Number.MAX_SAFE_INTEGER],
    ...[-1, -0x20, -0x21, -0x80, -0x81, -0x8000, -0x8001, -0x80000000, -0x80000001, Number.MIN_SAFE_INTEGER],
    ...[Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 53, 5e-324],
  ),
)
const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.constantFrom(...[31, 32, 48, 49, 255, 256, 65_535, 65_536].map((length) => 'x'.repeat(length))),
)
const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, undefined, true, false),
    number,
    text,
    fc.uint8Array({ maxLength: 300 }),
    fc.array(tie('value'), { maxLength: 20 }),
    fc.dictionary(text, tie('value'), { maxKeys: 20 }),
  ),
})).value

test('any value of an event has the bytes that the library gives it', () => {
  fc.assert(fc.property(value, assertSame), { numRuns: 2_000 })
})

test('large values, many names and views into larger buffers have them too', () => {
  assertSame({ bytes: new Uint8Array(70_000).fill(7), after: 'it' })
  assertSame(Buffer.from('a view').subarray(2))
  assertSame(Array.from({ length: 70_000 }, (_, i) => i))
  assertSame(Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`name-${i % 70_000}`, i])))
  for (let i = 0; i < 6_000; i++) assertSame({ [`b${i}`]: 1, [`a${i}`]: 2 })
})

test('half of a surrogate pair becomes U+FFFD, in names too', () => {
  const whole = { 'cut \ufffd': 'text \ufffd' }
  assert.equal(pack({ 'cut \ud83d': 'text \ud83d' }), pack(whole))
  assert.equal(unpackUntrusted(packCanonical({ 'cut \ud83d': 'text \ud83d' })), whole)
})

test('the library encodes what is no part of an event, and refuses what it cannot encode', () => {
  assert.is(packFast({ at: new Date(0) }, false), null)
  assert.equal(pack({ at: new Date(0) }), library.encode({ at: new Date(0) }))
  assert.equal(pack(new Float32Array([1, 2])), library.encode(new Float32Array([1, 2])))
  assert.throws(() => pack({ size: 10n }), /Unrecognized object/)
  const circle: { inner?: unknown } = {}
  circle.inner = circle
  assert.throws(() => pack(circle), /Too deep/)
})

test('a getter may encode a value of its own', () => {
  const value = {
    get inner() {
      return pack('inner')
    },
    after: 1,
  }
  assert.equal(pack(value), library.encode(value))
})

test.run()
