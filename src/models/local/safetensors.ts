/**
 * The safetensors format: 8 bytes little-endian header length, a JSON header (name -> dtype, shape, data_offsets; and
 * `__metadata__`), then the tensors' bytes without gaps. Files come from outside, so everything is checked before use.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { RlError } from '../../errors.ts'
import { firstIssue, safeParse } from '../../safe-parse.ts'
import { readText } from '../../text-file.ts'
import { byName } from '../names.ts'
import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from './half.ts'
import { refusePointer } from './lfs-pointer.ts'

/** Dtypes of weights. A file may have others, but they cannot be read. */
export type WeightDtype = 'F32' | 'F16' | 'BF16'

const BYTES = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  F8_E4M3: 1,
  F8_E5M2: 1,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U64: 8,
  U32: 4,
  U16: 2,
  U8: 1,
  BOOL: 1,
} as const
const MAX_HEADER_BYTES = 100_000_000

export type TensorEntry = {
  readonly dtype: string
  readonly shape: readonly number[]
  /** Position of the first byte in the file. `end` is exclusive. */
  readonly begin: number
  readonly end: number
}

export type NamedTensor = {
  readonly name: string
  readonly shape: readonly number[]
  readonly values: Float32Array
}

/** An open checkpoint: one file, or all shards of an index. */
export type TensorSource = {
  readonly entries: ReadonlyMap<string, TensorEntry>
  readonly metadata: Readonly<Record<string, string>>
  /** Reads a tensor's values as float32, in row-major order. */
  readonly read: (name: string) => Promise<Float32Array>
  readonly close: () => Promise<void>
}

const size = z.number().int().nonnegative()
const entrySchema = z.strictObject({
  dtype: z.string(),
  shape: z.array(size).max(16),
  data_offsets: z.tuple([size, size]),
})
const headerSchema = byName(z.unknown())
const metadataSchema = byName(z.string())

/**
 * Checks a header and returns the tensors in file order with absolute positions.
 * @param bytes the JSON header without its length
 * @param fileBytes size of the whole file
 * @throws RlError `model.safetensors` for anything that the format forbids
 */
export function parseHeader(bytes: Uint8Array, fileBytes: number, source = 'model.safetensors') {
  const refuse = (message: string, cause?: unknown) => damaged(source, message, cause)
  if (bytes[0] !== 0x7b) throw refuse('the header does not begin with {')
  let json: unknown
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw refuse('the header is not JSON in UTF-8', cause)
  }
  const { __metadata__: rawMetadata = {}, ...tensors } = headerSchema.parse(json)
  const metadata = safeParse(metadataSchema, rawMetadata)
  if (!metadata.success) throw refuse('__metadata__ is not a map of strings')
  const dataStart = 8 + bytes.length
  const entries: [string, TensorEntry][] = []
  for (const [name, raw] of Object.entries(tensors)) {
    const parsed = safeParse(entrySchema, raw)
    if (!parsed.success) throw refuse(`tensor ${name}: ${firstIssue(parsed.error).message}`)
    const { dtype, shape } = parsed.data
    const [begin, end] = parsed.data.data_offsets
    if (!isDtype(dtype)) throw refuse(`tensor ${name}: unknown dtype ${dtype}`)
    const length = shape.reduce<number>((product, extent) => product * extent, BYTES[dtype])
    if (!Number.isSafeInteger(length) || end - begin !== length)
      throw refuse(
        `tensor ${name}: ${dtype} [${shape.join(', ')}] needs ${length} bytes, data_offsets [${begin}, ${end}]`,
      )
    entries.push([name, { dtype, shape, begin: dataStart + begin, end: dataStart + end }])
  }
  entries.sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end)
  let position = dataStart
  for (const [name, entry] of entries) {
    if (entry.begin !== position)
      throw refuse(`tensor ${name} begins at ${entry.begin}, not at ${position}: a gap or an overlap`)
    position = entry.end
  }
  if (position !== fileBytes) throw refuse(`the tensors end at byte ${position}, the file at ${fileBytes}`)
  return { entries: new Map(entries), metadata: metadata.data }
}

/** Opens one file. Only the header is read now. Tensors are read on demand. */
export async function openSafetensors(path: string): Promise<TensorSource> {
  const file = await open(path).catch((cause) => {
    throw damaged(path, 'cannot be opened', cause)
  })
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw damaged(path, 'is no file')
    const fileBytes = stat.size
    refusePointer(await readRange(file, path, 0, Math.min(fileBytes, 64)), path, 'model.safetensors')
    const headerBytes = fileBytes < 8 ? 0n : (await readRange(file, path, 0, 8)).readBigUInt64LE()
    if (headerBytes < 2n || headerBytes > MAX_HEADER_BYTES || headerBytes + 8n > fileBytes)
      throw damaged(path, `a header of ${headerBytes} bytes in a file of ${fileBytes}`)
    const header = await readRange(file, path, 8, Number(headerBytes))
    const { entries, metadata } = parseHeader(header, fileBytes, path)
    const read = async (name: string) => {
      const entry = find(entries, name, path)
      return decode(entry, await readRange(file, path, entry.begin, entry.end - entry.begin), name, path)
    }
    return { entries, metadata, read, close: () => file.close() }
  } catch (error) {
    await file.close()
    throw error
  }
}

const indexSchema = z.object({ weight_map: byName(z.string()) })

async function readIndex(indexPath: string): Promise<z.infer<typeof indexSchema>> {
  try {
    const text = await readText(indexPath)
    refusePointer(Buffer.from(text), indexPath, 'model.safetensors')
    return indexSchema.parse(JSON.parse(text))
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw damaged(indexPath, 'is not an index of shards', cause)
  }
}

/** Returns the file names of an index, each once, sorted. */
export async function shardNames(indexPath: string): Promise<string[]> {
  const names = [...new Set(Object.values((await readIndex(indexPath)).weight_map))].sort()
  for (const name of names)
    if (basename(name) !== name) throw damaged(indexPath, `shard ${name} is outside of the folder`)
  return names
}

/** Opens all shards of a `*.safetensors.index.json`. */
export async function openShards(indexPath: string): Promise<TensorSource> {
  const index = await readIndex(indexPath)
  const shards = new Map<string, TensorSource>()
  const close = async () => {
    for (const shard of shards.values()) await shard.close()
  }
  try {
    const entries = new Map<string, TensorEntry>()
    const homes = new Map<string, TensorSource>()
    for (const [name, file] of Object.entries(index.weight_map)) {
      if (basename(file) !== file) throw damaged(indexPath, `shard ${file} is outside of the folder`)
      const shard = shards.get(file) ?? (await openSafetensors(join(dirname(indexPath), file)))
      shards.set(file, shard)
      entries.set(name, find(shard.entries, name, file))
      homes.set(name, shard)
    }
    for (const [file, shard] of shards)
      for (const name of shard.entries.keys())
        if (index.weight_map[name] !== file)
          throw damaged(indexPath, `tensor ${name} of ${file} is not placed there by it`)
    const read = (name: string) => find(homes, name, indexPath).read(name)
    return { entries, metadata: {}, read, close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Writes a file, with the tensors in the given order, and syncs it to the disk.
 * @returns SHA-256 (hex) of the file, and its size
 * @throws RlError `model.weights` for a number that F16 does not have
 */
export async function writeSafetensors(
  path: string,
  tensors: readonly NamedTensor[],
  { dtype = 'F32', metadata = {} }: { dtype?: WeightDtype; metadata?: Readonly<Record<string, string>> } = {},
): Promise<{ sha256: string; bytes: number }> {
  // Without a prototype, every tensor name is a valid key.
  const header: Record<string, unknown> = Object.create(null)
  header.__metadata__ = { format: 'pt', ...metadata }
  let position = 0
  for (const { name, shape, values } of tensors) {
    const end = position + values.length * BYTES[dtype]
    header[name] = { dtype, shape, data_offsets: [position, end] }
    position = end
  }
  const json = Buffer.from(JSON.stringify(header))
  const head = Buffer.alloc(8 + Math.ceil(json.length / 8) * 8, ' ')
  head.writeBigUInt64LE(BigInt(head.length - 8))
  json.copy(head, 8)
  parseHeader(head.subarray(8), head.length + position, path)

  const digest = createHash('sha256')
  const file = await open(path, 'w')
  try {
    for (const chunk of encoded(head, tensors, dtype)) {
      digest.update(chunk)
      await file.writeFile(chunk)
    }
    await file.sync()
  } finally {
    await file.close()
  }
  return { sha256: digest.digest('hex'), bytes: head.length + position }
}

function* encoded(head: Buffer, tensors: readonly NamedTensor[], dtype: WeightDtype) {
  yield head
  for (const { name, values } of tensors) {
    const data = dtype === 'F32' ? values : dtype === 'F16' ? halvesOf(name, values) : f32ToBf16(values)
    yield Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  }
}

const INFINITE_HALF = 0x7c00

/** Throws if a finite number becomes infinite: the model would be another one. */
function halvesOf(name: string, values: Float32Array): Uint16Array {
  const halves = f32ToF16(values)
  const at = halves.findIndex((half, i) => (half & 0x7fff) === INFINITE_HALF && Number.isFinite(values[i]))
  if (at === -1) return halves
  throw new RlError(`tensor ${name} holds ${values[at]}, and F16 ends at 65504`, {
    code: 'model.weights',
    hint: 'write it as BF16 or F32',
  })
}

function decode({ dtype }: TensorEntry, bytes: Buffer, name: string, source: string): Float32Array {
  const { buffer, byteOffset, byteLength } = bytes
  if (dtype === 'F32') return new Float32Array(buffer, byteOffset, byteLength / 4)
  if (dtype === 'BF16') return bf16ToF32(new Uint16Array(buffer, byteOffset, byteLength / 2))
  if (dtype === 'F16') return f16ToF32(new Uint16Array(buffer, byteOffset, byteLength / 2))
  throw damaged(source, `tensor ${name} is ${dtype}: weights must be F32, F16 or BF16`)
}

/** Reads into a buffer of its own. Its bytes are aligned for every dtype and can be transferred. */
async function readRange(file: FileHandle, path: string, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.from(new ArrayBuffer(length))
  for (let done = 0; done < length; ) {
    const { bytesRead } = await file.read(bytes, done, Math.min(length - done, 1 << 30), position + done)
    if (bytesRead === 0) throw damaged(path, `ends at byte ${position + done}`)
    done += bytesRead
  }
  return bytes
}

function isDtype(name: string): name is keyof typeof BYTES {
  return Object.hasOwn(BYTES, name)
}

function find<T>(values: ReadonlyMap<string, T>, name: string, source: string): T {
  const found = values.get(name)
  if (!found) throw damaged(source, `there is no tensor ${name}`)
  return found
}

function damaged(source: string, message: string, cause?: unknown): RlError {
  return new RlError(`${source}: ${message}`, {
    code: 'model.safetensors',
    hint: 'the file is damaged or not a safetensors file: fetch or export it again',
    cause,
  })
}
