import { mkdtempSync, rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../../src/errors.ts'
import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from '../../../src/models/local/half.ts'
import {
  openSafetensors,
  openShards,
  parseHeader,
  writeSafetensors,
} from '../../../src/models/local/safetensors.ts'

const folder = mkdtempSync(join(tmpdir(), 'safetensors-'))
test.after(() => rmSync(folder, { recursive: true }))

const path = (name: string) => join(folder, name)
const everyHalf = Uint16Array.from({ length: 65536 }, (_, i) => i)
const isSafetensorsError = (error: unknown) => error instanceof RlError && error.code === 'model.safetensors'

test('every 16-bit value survives the way to float32 and back', () => {
  for (const [to, from] of [
    [f16ToF32, f32ToF16],
    [bf16ToF32, f32ToBf16],
  ] as const) {
    const values = to(everyHalf)
    const back = from(values)
    everyHalf.forEach((bits, i) => {
      if (Number.isNaN(values[i])) assert.ok(Number.isNaN(to(back.subarray(i, i + 1))[0]))
      else assert.is(back[i], bits)
    })
  }
})

test('rounding to 16 bits takes the nearest value, ties to even', () => {
  const halves = f16ToF32(everyHalf.subarray(0, 0x7c00))
  fc.assert(
    fc.property(fc.float({ min: 0, max: 65503, noNaN: true }), (value) => {
      const [bits] = f32ToF16(Float32Array.of(value))
      const error = Math.abs(halves[bits] - value)
      for (const other of [bits - 1, bits + 1]) {
        if (other < 0 || other >= halves.length) continue
        const otherError = Math.abs(halves[other] - value)
        assert.ok(error < otherError || (error === otherError && bits % 2 === 0))
      }
    }),
  )
  assert.is(f32ToF16(Float32Array.of(65520))[0], 0x7c00)
  assert.is(f32ToF16(Float32Array.of(65519))[0], 0x7bff)
  assert.is(f32ToBf16(Float32Array.of(1 + 2 ** -8))[0], 0x3f80)
  assert.is(f32ToBf16(Float32Array.of(1 + 3 * 2 ** -8))[0], 0x3f82)
})

test('tensors are read back as they were written, in each dtype', async () => {
  const tensors = [
    { name: 'a.weight', shape: [2, 3], values: Float32Array.of(1, -2, 0.5, 3, 4, 0.1) },
    { name: 'empty', shape: [0, 4], values: new Float32Array() },
    { name: 'scalar', shape: [], values: Float32Array.of(7) },
  ]
  for (const [dtype, tolerance] of [
    ['F32', 0],
    ['F16', 1e-3],
    ['BF16', 1e-2],
  ] as const) {
    const { bytes } = await writeSafetensors(path(dtype), tensors, { dtype, metadata: { step: '3' } })
    assert.is((await readFile(path(dtype))).length, bytes)
    const file = await openSafetensors(path(dtype))
    assert.is(file.metadata.step, '3')
    for (const { name, shape, values } of tensors) {
      assert.equal(file.entries.get(name)?.shape, shape)
      const read = await file.read(name)
      assert.is(read.length, values.length)
      for (const [i, value] of read.entries())
        assert.ok(Math.abs(value - values[i]) <= tolerance * Math.abs(values[i]))
    }
    await file.close()
  }
})

test('shards are read through their index', async () => {
  const one = { name: 'one', shape: [2], values: Float32Array.of(1, 2) }
  const two = { name: 'two', shape: [1], values: Float32Array.of(3) }
  await writeSafetensors(path('m-1.safetensors'), [one])
  await writeSafetensors(path('m-2.safetensors'), [two])
  const index = path('m.safetensors.index.json')
  const write = (map: Record<string, string>) => writeFile(index, JSON.stringify({ weight_map: map }))
  await write({ one: 'm-1.safetensors', two: 'm-2.safetensors' })
  const source = await openShards(index)
  assert.equal([...(await source.read('two'))], [3])
  await source.close()
  for (const map of [
    { one: '../m-1.safetensors' },
    { one: 'm-2.safetensors' },
    { one: 'missing' },
    { one: '..' },
  ]) {
    await write(map as Record<string, string>)
    const error = await openShards(index).then(
      () => null,
      (e) => e,
    )
    assert.ok(isSafetensorsError(error), String(error))
  }
})

test('a tensor keeps its name, whatever that is', async () => {
  const tensor = '{"dtype":"F32","shape":[1],"data_offsets":'
  const header = Buffer.from(`{"__proto__":${tensor}[0,4]},"constructor":${tensor}[4,8]}}`)
  const { entries } = parseHeader(header, 8 + header.length + 8)
  assert.equal([...entries.keys()], ['__proto__', 'constructor'])
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(header.length))
  await writeFile(path('names'), Buffer.concat([length, header, Buffer.from(Float32Array.of(5, 6).buffer)]))
  const index = JSON.stringify({ weight_map: { constructor: 'names' } })
  await writeFile(
    path('names.index.json'),
    index.replace('{"constructor', '{"__proto__":"names","constructor'),
  )
  const shards = await openShards(path('names.index.json'))
  assert.equal([...(await shards.read('__proto__')), ...(await shards.read('constructor'))], [5, 6])
  await shards.close()
})

test('headers that lie are refused', () => {
  const tensor = (over: object) => ({ dtype: 'F32', shape: [2], data_offsets: [0, 8], ...over })
  const cases: [string, unknown, number][] = [
    ['a list', [], 0],
    ['unknown dtype', { a: tensor({ dtype: 'Q4' }) }, 8],
    ['inherited dtype', { a: tensor({ dtype: 'constructor' }) }, 8],
    ['negative size', { a: tensor({ shape: [-2] }) }, 8],
    ['fraction', { a: tensor({ shape: [0.5, 4] }) }, 8],
    ['wrong length', { a: tensor({ data_offsets: [0, 4] }) }, 4],
    ['ends before it begins', { a: tensor({ data_offsets: [8, 0] }) }, 8],
    ['overflow', { a: tensor({ shape: [2 ** 50, 2 ** 50] }) }, 8],
    ['gap', { a: tensor({}), b: tensor({ data_offsets: [12, 20] }) }, 20],
    ['overlap', { a: tensor({}), b: tensor({ data_offsets: [4, 12] }) }, 12],
    ['not from the start', { a: tensor({ data_offsets: [8, 16] }) }, 16],
    ['file too short', { a: tensor({}) }, 4],
    ['file too long', { a: tensor({}) }, 12],
    ['unknown key', { a: tensor({ extra: 1 }) }, 8],
    ['metadata not of strings', { __metadata__: { a: 1 }, a: tensor({}) }, 8],
  ]
  for (const [what, header, dataBytes] of cases) {
    const bytes = Buffer.from(JSON.stringify(header))
    assert.throws(() => parseHeader(bytes, 8 + bytes.length + dataBytes), isSafetensorsError, what)
  }
})

test('no file whatever makes the reader fail otherwise than with its error', async () => {
  await writeSafetensors(path('good'), [{ name: 'w', shape: [4], values: Float32Array.of(1, 2, 3, 4) }])
  const good = await readFile(path('good'))
  const survives = async (bytes: Uint8Array) => {
    await writeFile(path('fuzz'), bytes)
    try {
      const file = await openSafetensors(path('fuzz'))
      for (const [name, { shape }] of file.entries) {
        const values = await file.read(name)
        assert.is(
          values.length,
          shape.reduce((a, b) => a * b, 1),
        )
      }
      await file.close()
    } catch (error) {
      if (!isSafetensorsError(error)) throw error
    }
  }
  await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), survives), { numRuns: 200 })
  const mutations = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(mutations, fc.nat(good.length), async (changes, cut) => {
      const bytes = Buffer.from(good)
      for (const [at, value] of changes) bytes[at] = value
      await survives(bytes)
      await survives(bytes.subarray(0, cut))
    }),
    { numRuns: 300 },
  )
})

test.run()
