/**
 * The GGUF container (versions 2 and 3, little-endian): metadata by key, then the tensors' names, shapes, types and places, then their
 * bytes. Files come from outside. So every length is checked against the rest of the file before it is used.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { RlError } from '../../../errors.ts'
import { refusePointer } from '../lfs-pointer.ts'
import type { TensorEntry, TensorSource } from '../safetensors.ts'
import { damaged, type GgufValue, headerValues, TooShort } from './header-values.ts'
import { dequantize, type Layout, type QuantType, quantType, typeName } from './quantized.ts'

export type GgufFile = {
  readonly metadata: ReadonlyMap<string, GgufValue>
  /** Shapes are row-major as everywhere here. The file has them reversed. */
  readonly tensors: ReadonlyMap<string, TensorEntry>
}

const MAGIC = 0x46554747
const MOST_ENTRIES = 200_000
const MOST_HEADER_BYTES = 512 * 2 ** 20
const FIRST_READ_BYTES = 16 * 2 ** 20

/** Reads only the header. */
export async function readGguf(path: string): Promise<GgufFile> {
  const file = await openFile(path)
  try {
    const { size } = await file.stat()
    for (let bytes = Math.min(size, FIRST_READ_BYTES); ; bytes = Math.min(size, 2 * bytes)) {
      try {
        return parseGguf(await readBytes(file, path, 0, bytes), size, path)
      } catch (error) {
        if (!(error instanceof TooShort) || bytes >= Math.min(size, MOST_HEADER_BYTES)) throw error
      }
    }
  } finally {
    await file.close()
  }
}

/** Opens the tensors of a file. They are read as float32 on demand. */
export async function openGguf(path: string): Promise<TensorSource> {
  const { tensors } = await readGguf(path)
  const file = await openFile(path)
  return {
    entries: tensors,
    metadata: {},
    async read(name) {
      const entry = tensors.get(name)
      if (!entry) throw damaged(path, `there is no tensor ${name}`)
      const bytes = await readBytes(file, path, entry.begin, entry.end - entry.begin)
      return dequantize(entry.dtype as QuantType, bytes)
    },
    close: () => file.close(),
  }
}

/**
 * @param bytes beginning of the file
 * @param fileBytes size of the whole file
 * @throws RlError `model.gguf` for anything that the format forbids
 */
export function parseGguf(bytes: Buffer, fileBytes: number, source = 'model.gguf'): GgufFile {
  const refuse = (message: string) => damaged(source, message)
  const { u32, u64, text, value, position } = headerValues(bytes, fileBytes, source)
  refusePointer(bytes, source, 'model.gguf')
  if (u32() !== MAGIC) throw refuse('it does not begin with GGUF')
  const version = u32()
  if (version >= 2 ** 24)
    throw new RlError(`${source}: it is written big-endian, which is not implemented`, {
      code: 'model.gguf',
      hint: 'convert it with gguf_convert_endian.py of llama.cpp, or fetch a little-endian file of the model',
    })
  if (version !== 2 && version !== 3) throw refuse(`version ${version} of GGUF is not implemented`)
  const tensorCount = u64()
  const valueCount = u64()
  if (tensorCount > MOST_ENTRIES || valueCount > MOST_ENTRIES)
    throw refuse(`${tensorCount} tensors and ${valueCount} values`)
  const metadata = new Map<string, GgufValue>()
  for (let i = 0; i < valueCount; i++) {
    const key = text()
    if (metadata.has(key)) throw refuse(`the key ${key} stands there twice`)
    metadata.set(key, value(u32()))
  }
  const found: Found[] = []
  for (let i = 0; i < tensorCount; i++) {
    const name = text()
    const dimensions = u32()
    if (dimensions > 4) throw refuse(`tensor ${name} has ${dimensions} dimensions`)
    const shape = Array.from({ length: dimensions }, u64).reverse()
    const type = quantType(u32())
    if (typeof type === 'number')
      throw new RlError(
        `${source}: tensor ${name} is quantised as ${typeName(type)}, which is not implemented`,
        {
          code: 'model.gguf',
          hint: 'use F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K or Q6_K',
        },
      )
    found.push({ name, type, shape, offset: u64() })
  }
  return {
    metadata,
    tensors: placed(found, metadata.get('general.alignment') ?? 32, position(), fileBytes, refuse),
  }
}

type Found = {
  readonly name: string
  readonly type: Layout
  readonly shape: number[]
  readonly offset: number
}

/**
 * Returns the place of each tensor in the file. Tensors begin at multiples of the alignment and do not overlap.
 * @param headerEnd position behind the header
 */
function placed(
  found: readonly Found[],
  alignment: GgufValue,
  headerEnd: number,
  fileBytes: number,
  refuse: (message: string) => RlError,
): Map<string, TensorEntry> {
  if (typeof alignment !== 'number' || !(alignment > 0) || alignment % 8 !== 0)
    throw refuse(`general.alignment is ${alignment}`)
  const start = Math.ceil(headerEnd / alignment) * alignment
  const tensors = new Map<string, TensorEntry>()
  let end = start
  for (const { name, type, shape, offset } of [...found].sort((a, b) => a.offset - b.offset)) {
    const values = shape.reduce((product, extent) => product * extent, 1)
    if (!Number.isSafeInteger(values) || (shape.at(-1) ?? 1) % type.values !== 0)
      throw refuse(`tensor ${name}: [${shape}] in blocks of ${type.values}`)
    const begin = start + offset
    if (tensors.has(name)) throw refuse(`tensor ${name} stands there twice`)
    if (offset % alignment !== 0 || begin < end)
      throw refuse(`tensor ${name} begins at ${begin}, within another`)
    end = begin + (values / type.values) * type.bytes
    if (end > fileBytes) throw refuse(`tensor ${name} ends at byte ${end}, the file at ${fileBytes}`)
    tensors.set(name, { dtype: type.name, shape, begin, end })
  }
  return tensors
}

async function openFile(path: string): Promise<FileHandle> {
  const file = await open(path).catch((cause) => {
    throw damaged(path, 'it cannot be opened', cause)
  })
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw damaged(path, 'it is no file')
}

async function readBytes(file: FileHandle, path: string, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.from(new ArrayBuffer(length))
  for (let done = 0; done < length; ) {
    const { bytesRead } = await file.read(bytes, done, Math.min(length - done, 1 << 30), position + done)
    if (bytesRead === 0) throw damaged(path, `it ends at byte ${position + done}`)
    done += bytesRead
  }
  return bytes
}
