import { encode, decode as unpack } from '@msgpack/msgpack'
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../src/errors.ts'
import { CATALOGUE, type EventType, keyOf } from '../../src/events/catalogue.ts'
import { checkData, checkEvent, decodeLogged, EVENT_LIMIT, encodeEnvelope } from '../../src/events/codec.ts'
import { readFloat32, readInt32, toColumn } from '../../src/events/columns.ts'
import { MAX_DEPTH, unpackFast } from '../../src/events/fast-unpack.ts'
import { pack, packCanonical, unpackUntrusted } from '../../src/events/msgpack.ts'
import { UPCASTERS, upcast } from '../../src/events/upcasters.ts'
import { readFixtures, sampleOf } from './samples.ts'

const fixtures = readFixtures()
const ID = '0198c0de-0000-7000-8000-000000000001'

function envelopeOf(type: string, data: unknown, extra: Record<string, unknown> = {}) {
  return { id: ID, type, v: 1, run: 'test', actor: 'policy', time: 1, cause: null, data, ...extra }
}

function codeOf(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    if (error instanceof RlError) return error.code
    throw error
  }
  return 'nothing was thrown'
}

test('every type and version has a fixture that reads as the newest version', () => {
  for (const [type, { v }] of Object.entries(CATALOGUE))
    for (let version = 1; version <= v; version++)
      assert.ok(
        fixtures.some((fixture) => fixture.type === type && fixture.v === version),
        `test/fixtures/events/${type}.v${version}.json is missing: keep the old version's when you raise v`,
      )
  for (const { type, v, data } of fixtures) assert.ok(checkData(type as EventType, v, data))
})

test('an event of every type comes back as it was sent', () => {
  for (const fixture of fixtures) {
    const body = encodeEnvelope(envelopeOf(fixture.type, fixture.data, { v: fixture.v }))
    const checked = checkEvent(body, 'test')
    assert.equal(checked.envelope.data, checkData(fixture.type as EventType, fixture.v, fixture.data))
    assert.is(checked.key, keyOf(sampleOf(fixture)))
    const logged = decodeLogged(body, 7)
    assert.is(logged.position, 7)
    assert.equal(packCanonical(logged.data), packCanonical(checked.envelope.data))
  }
})

test('what is wrong with an event has a name', () => {
  const good = envelopeOf('RunPaused', { reason: 'lunch' })
  const code = (envelope: unknown) => codeOf(() => checkEvent(pack(envelope), 'test'))
  assert.is(code(good), 'nothing was thrown')
  assert.is(code({ ...good, type: 'RunPausd' }), 'event.unknown-type')
  assert.is(code({ ...good, type: 'toString' }), 'event.unknown-type')
  assert.is(code({ ...good, v: 2 }), 'event.unknown-version')
  assert.is(code({ ...good, v: 0 }), 'event.bad-envelope')
  assert.is(code({ ...good, run: 'other' }), 'event.wrong-run')
  assert.is(code({ ...good, run: 'a.b' }), 'event.bad-envelope')
  assert.is(code({ ...good, more: 1 }), 'event.bad-envelope')
  assert.is(code({ ...good, id: 'x' }), 'event.bad-envelope')
  assert.is(code({ ...good, data: { reason: 'lunch', extra: 1 } }), 'event.bad-data')
  assert.is(code({ ...good, data: { reason: 5 } }), 'event.bad-data')
  assert.is(code({ ...good, data: { $blob: { sha256: 'x', bytes: 1 } } }), 'event.bad-data')
  assert.is(code({ ...good, data: { reason: 'x'.repeat(EVENT_LIMIT) } }), 'event.oversized')
  assert.is(code([good]), 'event.bad-envelope')
  assert.is(
    codeOf(() => checkEvent(new Uint8Array(0), 'test')),
    'event.malformed',
  )
})

test('a header that claims more than there is, deep nesting, extensions and trailing bytes are refused before decoding', () => {
  const refused = (bytes: number[]) =>
    assert.is(
      codeOf(() => unpackUntrusted(Uint8Array.from(bytes))),
      'event.malformed',
    )
  refused([0xdd, 0xff, 0xff, 0xff, 0xff])
  refused([0xdf, 0x00, 0xff, 0xff, 0xff, 0xc0])
  refused([0xc6, 0x7f, 0xff, 0xff, 0xff, 1])
  refused([...Array(MAX_DEPTH + 2).fill(0x91), 0xc0])
  refused([0xc7, 0x01, 0x05, 0x00])
  refused([0xd6, 0xff, 0, 0, 0, 0])
  refused([0xc0, 0xc0])
  refused([0xc1])
  refused([0x81, 0xa9, ...Buffer.from('__proto__'), 0x01])
  refused([0x81, 0x01, 0x01])
})

const json = fc.anything({ withBigInt: false, maxDepth: 3 }).filter(isPlain)
function isPlain(value: unknown): boolean {
  if (value === null || ['string', 'boolean'].includes(typeof value)) return true
  if (typeof value === 'number') return !Object.is(value, -0) && !Number.isNaN(value)
  if (Array.isArray(value)) return value.every(isPlain)
  if (typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return false
  return Object.entries(value).every(([key, inner]) => key !== '__proto__' && isPlain(inner))
}

test('plain data survives the codec; equal data has equal canonical bytes whatever the order of keys', () => {
  fc.assert(
    fc.property(json, (value) => {
      assert.equal(unpackUntrusted(pack(value)), value)
      const reversed = reverseKeys(value)
      assert.equal(packCanonical(reversed), packCanonical(value))
    }),
    { numRuns: 2_000 },
  )
})

test('half of a character is written as U+FFFD, and read as one where it was written as it stands', () => {
  const cut = { 'k\ud83d': 'cut \ud83d', long: `${'x'.repeat(100)}\ude00` }
  const bytes = pack(cut)
  const whole = { 'k\ufffd': 'cut \ufffd', long: `${'x'.repeat(100)}\ufffd` }
  assert.equal(unpackUntrusted(bytes), whole)
  assert.equal(unpack(bytes), whole)
  assert.equal(unpackUntrusted(encode(cut)), whole)
})

function reverseKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseKeys)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reverseKeys(inner)]),
  )
}

test('10,000 arbitrary byte strings give an error of this project or nothing, never anything else', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      const code = codeOf(() => checkEvent(bytes, 'test'))
      assert.match(code, /^event\./)
    }),
    { numRuns: 10_000 },
  )
})

/** What is read from a log is what was checked on its way in. */
function readsAsChecked(body: Uint8Array): void {
  const { envelope } = checkEvent(body, 'test')
  const logged = decodeLogged(body, 1)
  assert.is(logged.position, 1)
  assert.equal(packCanonical(logged.data), packCanonical(envelope.data))
}

test('every single damage that was once found in a fuzz: a number as a key, text that is no UTF-8, bytes in place of a seed', () => {
  for (const { type, v, data } of fixtures) {
    const body = encodeEnvelope(envelopeOf(type, data, { v }))
    for (let at = 0; at < body.length; at++)
      for (const byte of [0x01, 0xb6, 0xc4, 0xc0, 0xff]) {
        const damaged = body.slice()
        damaged[at] = byte
        const code = codeOf(() => checkEvent(damaged, 'test'))
        if (code === 'nothing was thrown') readsAsChecked(damaged)
        else assert.match(code, /^event\./)
      }
  }
})

test('10,000 damaged events are refused with a code or still valid, and a valid one can be read back', () => {
  const bodies = fixtures.map(({ type, v, data }) => encodeEnvelope(envelopeOf(type, data, { v })))
  fc.assert(
    fc.property(
      fc.nat(bodies.length - 1),
      fc.array(fc.record({ at: fc.nat(), byte: fc.nat(255) }), { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      (which, changes, cut) => {
        const body = bodies[which].slice()
        for (const { at, byte } of changes) body[at % body.length] = byte
        const damaged = cut ? body.subarray(0, changes[0].at % body.length) : body
        const code = codeOf(() => checkEvent(damaged, 'test'))
        if (code === 'nothing was thrown') readsAsChecked(damaged)
        else assert.match(code, /^event\./)
      },
    ),
    { numRuns: 10_000 },
  )
})

test('columns come back bit for bit, at any offset of a message', () => {
  fc.assert(
    fc.property(fc.float32Array({ noNaN: true }), fc.int32Array(), fc.nat(7), (floats, ints, pad) => {
      const message = pack({ pad: new Uint8Array(pad), floats: toColumn(floats), ints: toColumn(ints) })
      const read = unpack(message) as { floats: Uint8Array; ints: Uint8Array }
      assert.equal(readFloat32(read.floats), floats)
      assert.equal(readInt32(read.ints), ints)
    }),
  )
  assert.is(
    codeOf(() => readInt32(new Uint8Array(5))),
    'event.bad-column',
  )
})

test('old versions are brought up step by step, and a missing step has a name', () => {
  const upcasters = {
    RunPaused: {
      1: ({ why }: Record<string, unknown>) => ({ cause: why }),
      2: ({ cause }: Record<string, unknown>) => ({ reason: cause }),
    },
  }
  assert.equal(upcast('RunPaused', 1, { why: 'lunch' }, { upcasters, newest: 3 }), { reason: 'lunch' })
  assert.equal(upcast('RunPaused', 3, { reason: 'lunch' }, { upcasters, newest: 3 }), { reason: 'lunch' })
  assert.is(
    codeOf(() => upcast('RunPaused', 1, {}, { upcasters, newest: 4 })),
    'event.unknown-version',
  )
  assert.is(
    codeOf(() => upcast('RunPaused', 5, {}, { upcasters, newest: 4 })),
    'event.unknown-version',
  )
  for (const [type, { v }] of Object.entries(CATALOGUE))
    for (let version = 1; version < v; version++)
      assert.type(UPCASTERS[type as EventType]?.[version], 'function', `${type} from ${version}`)
})

test('what the log gives back is decoded as msgpack is, and bytes that are cut or spoiled never hang', () => {
  const name = fc.string({ maxLength: 80, unit: fc.constantFrom('a', 'b', 'é', '\u4e2d', '\ud83d\ude00') })
  const leaf = fc.oneof(
    name,
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger(),
    fc.integer({ min: -300, max: 70_000 }),
    fc.double({ noNaN: true }),
    fc.uint8Array({ maxLength: 300 }),
  )
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie('value'), { maxLength: 20 }),
      fc.dictionary(name, tie('value'), { maxKeys: 20, noNullPrototype: true }),
    ),
  }))
  fc.assert(
    fc.property(value, fc.nat(), fc.nat(255), (any, at, byte) => {
      const bytes = pack(any)
      assert.equal(unpackFast(bytes), unpack(bytes))
      assert.throws(
        () => unpackFast(bytes.subarray(0, at % bytes.length)),
        (error: unknown) => error instanceof RlError,
      )
      bytes[at % bytes.length] = byte
      try {
        unpackFast(bytes)
      } catch (error) {
        assert.instance(error, RlError)
      }
    }),
    { numRuns: 300 },
  )
})

test.run()
