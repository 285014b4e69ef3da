/** What came from outside meets a schema: the first problem, at a cost that does not grow with the number of problems. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { encode } from '@msgpack/msgpack'
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { RlError } from '../../src/errors.ts'
import { CATALOGUE, type EventType } from '../../src/events/catalogue.ts'
import { checkData, checkEvent, checkOpened, DATA_LIMIT, openEvent } from '../../src/events/codec.ts'
import { envelopeSchema } from '../../src/events/envelope.ts'
import { unpackFast } from '../../src/events/fast-unpack.ts'
import {
  appendRequest,
  blobGetRequest,
  blobPutRequest,
  hasRequest,
  readRequest,
} from '../../src/events/log-protocol.ts'
import { pack, unpackMap } from '../../src/events/msgpack.ts'
import { isWalkWhole, problemOf } from '../../src/events/shape.ts'
import { readFixtures } from './samples.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const BOUNDS = { bytes: 1_000_000, values: 1_000 }
const requests = [appendRequest, readRequest, hasRequest, blobGetRequest, blobPutRequest]
const schemas = Object.values(CATALOGUE).map(({ schema }) => schema as z.ZodType)

function refusalOf(action: () => unknown): RlError {
  try {
    action()
  } catch (error) {
    if (error instanceof RlError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

/** The places of all values in a value. */
function placesOf(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [path]
  return [path, ...Object.entries(value).flatMap(([key, inner]) => placesOf(inner, [...path, key]))]
}

function withAt(value: unknown, [key, ...rest]: readonly (string | number)[], put: unknown): unknown {
  if (key === undefined) return put
  if (Array.isArray(value))
    return value.map((inner, at) => (at === Number(key) ? withAt(inner, rest, put) : inner))
  const map = value as Record<string, unknown>
  return { ...map, [key]: withAt(map[key], rest, put) }
}

test('bytes, lists and texts in any place of any event are refused in a short line, or right there', () => {
  const wrong = [
    new Uint8Array(60_000),
    Array(60_000).fill('x'),
    'x'.repeat(60_000),
    new Uint8Array(3),
    [],
    {},
    7,
  ]
  const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`key ${n} ${'k'.repeat(200)}`, n]))
  for (const { type, v, data } of readFixtures())
    for (const path of placesOf(data))
      for (const put of [...wrong, wide]) {
        const damaged = withAt(data, path, put)
        try {
          checkData(type as EventType, v, damaged)
        } catch (error) {
          assert.ok(error instanceof RlError, `${type} ${path}: ${error}`)
          assert.ok(error.message.length < 700, error.message.slice(0, 100))
        }
      }
})

/** Values of every kind, at and beyond bounds. */
const ODD = [
  null,
  true,
  '',
  'x',
  'x'.repeat(300),
  -1,
  0,
  0.5,
  1,
  1e300,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 53,
  [],
  {},
  { x: 1 },
  new Uint8Array(4),
]

test('where the walk is whole, it accepts what the schema accepts, and the schema changes nothing', () => {
  let whole = 0
  for (const { type, v, data } of readFixtures()) {
    const { schema, v: newest } = CATALOGUE[type as EventType]
    if (v !== newest || !isWalkWhole(schema)) continue
    whole++
    for (const path of placesOf(data))
      for (const put of ODD) {
        const changed = withAt(data, path, put)
        const parsed = (schema as z.ZodType).safeParse(changed)
        assert.is(problemOf(schema, changed) === null, parsed.success, `${type} ${path.join('.')}: ${put}`)
        if (parsed.success) assert.equal(parsed.data, changed)
      }
  }
  assert.ok(whole >= 30, String(whole))
  for (const type of ['StepScored', 'TrajectoryCompleted', 'RolloutRequested'] as const)
    assert.ok(isWalkWhole(CATALOGUE[type].schema), type)
})

test('a schema with a condition, a default or a change of its own is asked itself', () => {
  const inner = z.strictObject({ a: z.string() })
  for (const schema of [
    inner.refine(({ a }) => a !== ''),
    z.object({ a: z.string() }),
    z.strictObject({ a: z.string().default('x') }),
    z.strictObject({ a: z.string().trim() }),
    z.strictObject({ a: z.coerce.number() }),
    z.array(z.string()).min(1),
    z.record(z.enum(['a', 'b']), z.string()),
    z.strictObject({ a: z.string().transform(Number) }),
    z.map(z.string(), z.string()),
  ])
    assert.not(isWalkWhole(schema))
  assert.ok(isWalkWhole(z.array(inner)))
})

test('bounds of numbers and texts are those of the schema', () => {
  const numbers = [
    z.number().min(0).max(1),
    z.int().positive(),
    z.number().lt(2),
    z.int().gte(-3),
    z.number().multipleOf(2),
  ]
  const texts = [
    z.uuid(),
    z
      .string()
      .regex(/^[a-c]+$/)
      .max(3),
    z.string().min(1),
    z.string().max(3),
    z.string().length(2),
    z.string().startsWith('a'),
  ]
  const values = fc.oneof(
    fc.double(),
    fc.integer({ min: -5, max: 5 }),
    fc.string({ maxLength: 5 }),
    fc.uuid(),
    fc.stringMatching(/^[a-d]{0,4}$/),
    fc.constant(null),
  )
  fc.assert(
    fc.property(fc.constantFrom<z.ZodType>(...numbers, ...texts), values, (schema, value) => {
      assert.is(problemOf(schema, value) === null, schema.safeParse(value).success)
    }),
  )
})

test('whoever has no problem by itself has few for the schema as a whole, and a valid one has none', () => {
  for (const { type, v, data } of readFixtures()) {
    const schema = CATALOGUE[type as EventType].schema as z.ZodType
    const current = checkData(type as EventType, v, data)
    assert.is(problemOf(schema, current), null)
    for (const path of placesOf(current))
      for (const put of [Array(500).fill(null), new Uint8Array(500), { other: 1 }, -1.5, null, undefined]) {
        const damaged = withAt(current, path, put)
        if (problemOf(schema, damaged) !== null) {
          assert.not(schema.safeParse(damaged).success, `${type} ${path}`)
          continue
        }
        const issues = schema.safeParse(damaged).error?.issues.length ?? 0
        assert.ok(issues <= 8, `${type} ${path}: ${issues} issues`)
      }
  }
})

/** Kinds of schemas that hold others, as they stand in what comes from outside: each one is walked. */
const WALKED = ['object', 'array', 'tuple', 'record', 'union', 'optional', 'nullable', 'default']
const LEAVES = ['string', 'number', 'int', 'boolean', 'literal', 'enum', 'custom', 'unknown', 'never']

test('each kind of schema that stands in an event or a request is walked, or has one problem at most', () => {
  const seen = new Set<string>()
  const look = (schema: z.core.$ZodType): void => {
    const { def } = (schema as z.core.$ZodTypes)._zod
    seen.add(def.type)
    for (const inner of Object.values(def as unknown as Record<string, unknown>).flatMap((one) =>
      Array.isArray(one)
        ? one
        : [one, ...(def.type === 'object' && one === def.shape ? Object.values(def.shape) : [])],
    ))
      if (typeof inner === 'object' && inner !== null && '_zod' in inner && 'def' in (inner._zod as object))
        if ('type' in (inner as { _zod: { def: object } })._zod.def) look(inner as z.core.$ZodType)
  }
  for (const schema of [...schemas, ...requests, envelopeSchema]) look(schema)
  for (const kind of seen) assert.ok([...WALKED, ...LEAVES].includes(kind), kind)
  assert.ok(seen.has('record') && seen.has('tuple'))
})

test('a problem is told with its place, and those of a union by the option that came nearest', () => {
  const schema = z.strictObject({
    list: z.array(z.strictObject({ n: z.int() })),
    either: z.union([z.number(), z.strictObject({ deep: z.strictObject({ text: z.string() }) })]).optional(),
    named: z.record(z.string().max(3), z.int()).optional(),
  })
  assert.is(problemOf(schema, new Uint8Array(9)), 'expected a map, received bytes')
  assert.is(
    problemOf(schema, { list: [{ n: 1 }, new Uint8Array(9)] }),
    'list.1: expected a map, received bytes',
  )
  assert.is(problemOf(schema, { list: [], other: 1 }), 'unknown key "other"')
  assert.is(
    problemOf(schema, { list: [], either: { deep: { text: 7 } } }),
    'either.deep.text: expected a text, received a number',
  )
  assert.match(String(problemOf(schema, { list: [], named: { long: 1 } })), /^named\.long: /)
  assert.is(problemOf(schema, { list: [{ n: 1 }], either: 3, named: { a: 1 } }), null)
})

test('an event whose data is no map is refused in every version, in the envelope and in a blob', () => {
  const id = '0198c0de-0000-7000-8000-000000000001'
  const wrong = [new Uint8Array(200_000), [new Uint8Array(9)], 'text', 7, null, true]
  for (const [type, { v: newest }] of Object.entries(CATALOGUE))
    for (let v = 1; v <= newest; v++)
      for (const data of wrong) {
        const envelope = { id, type, v, run: 'test', actor: 'policy', time: 1, cause: null }
        const code = refusalOf(() => checkEvent(pack({ ...envelope, data }), 'test')).code
        assert.is(code, 'event.bad-data', `${type} ${v}`)
        const body = pack({ ...envelope, data: { $blob: { sha256: 'a'.repeat(64), bytes: 9 } } })
        const opened = openEvent(body, 'test')
        assert.is(refusalOf(() => checkOpened(opened, pack(data))).code, 'event.bad-data', `${type} ${v}`)
      }
})

test('an event names no blob that is larger than an event may be', () => {
  const id = '0198c0de-0000-7000-8000-000000000001'
  const data = { $blob: { sha256: 'a'.repeat(64), bytes: DATA_LIMIT + 1 } }
  const body = pack({ id, type: 'RunPaused', v: 1, run: 'test', actor: 'x', time: 1, cause: null, data })
  let loaded = 0
  const load = () => {
    loaded++
    return new Uint8Array(0)
  }
  assert.is(refusalOf(() => checkEvent(body, 'test', load)).code, 'event.oversized')
  assert.is(loaded, 0)
})

test('a map from outside is one: anything else is null, and what readers would read in two ways is refused', () => {
  for (const value of [new Uint8Array(500_000), 'x'.repeat(500_000), [1], 7, null])
    assert.is(unpackMap(pack(value), BOUNDS), null)
  assert.equal(unpackMap(pack({ a: { b: [1] } }), BOUNDS), { a: { b: [1] } })
  const code = (bytes: Uint8Array) => refusalOf(() => unpackMap(bytes, BOUNDS)).code
  const twice = Uint8Array.of(0x82, 0xa1, 0x61, 1, 0xa1, 0x61, 2)
  const within = Uint8Array.of(0x81, 0xa1, 0x62, ...twice)
  const inList = Uint8Array.of(0x81, 0xa1, 0x62, 0x92, 1, ...twice)
  const cut = encode({ text: 'cut \ud83d' })
  const nonsense = Uint8Array.of(0x81, 0xa1, 0x61, 0xa2, 0xff, 0xfe)
  const numbered = Uint8Array.of(0x81, 0x01, 0x01)
  for (const bytes of [twice, within, inList, cut, nonsense, numbered, pack({ a: Array(1_001).fill(0) })])
    assert.is(code(bytes), 'event.malformed')
  assert.is(code(pack({ a: new Uint8Array(1_000_000) })), 'event.malformed')
  assert.equal(unpackFast(twice), { a: 2 }, 'a log that holds one is read as ever')
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.constant(null))), (map) => {
      const plain = Object.fromEntries(
        Object.entries(map).filter(([key]) => key !== '__proto__' && key.isWellFormed()),
      )
      assert.equal(unpackMap(pack(plain), BOUNDS), plain)
    }),
  )
})

test('names that nobody asked for do not stay in memory', () => {
  const held = () => {
    // The names of a map's keys are let go by the second round.
    for (let round = 0; round < 2; round++) collect()
    return process.memoryUsage().heapUsed
  }
  const before = held()
  for (let n = 0; n < 300; n++) unpackFast(pack({ [`${n} ${'k'.repeat(1_000_000)}`]: 1 }))
  assert.ok(held() - before < 100_000_000)
})

test.run()
