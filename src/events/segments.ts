/**
 * Segments hold the bodies of archived events, many in one compressed file that is named by its SHA-256. Rows stay in the log with
 * everything that finds events. So a reader does not notice where a body lies.
 */
import { createHash } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as zlib from 'node:zlib'
import { explain, RlError } from '../errors.ts'
import { makePrivateFolder, syncNames } from '../platform/files.ts'
import { int32Column, readInt32 } from './columns.ts'
import { pack, unpackUntrusted } from './msgpack.ts'

/** A row of the table of segments: this file holds the events `first` to `last`. */
export type SegmentRow = { readonly first: number; readonly last: number; readonly sha256: string }

export type Segment = {
  readonly run: string
  readonly first: number
  readonly bodies: readonly Buffer[]
}

/** Content of a decompressed segment. */
type Content = {
  readonly run: string
  readonly first: number
  /** Size of each body in bytes. */
  readonly lengthsI32: Uint8Array
  /** All bodies, one after the other. */
  readonly bodies: Uint8Array
}

/** The first bytes of a file tell the compression. Node has zstd from 22.15 on. An older Node writes brotli. */
const ZSTD = 'rls1zstd'
const BROTLI = 'rls1brot'
const MAGIC_BYTES = 8
/** Higher levels take several times as long for a few per cent. */
const ZSTD_LEVEL = 9
const BROTLI_QUALITY = 5
const MOST_BYTES = 512 * 1024 * 1024

export function segmentsFolder(log: string): string {
  return join(dirname(log), 'segments')
}

function segmentPath(folder: string, sha256: string): string {
  return join(folder, `${sha256}.segment`)
}

/** Writes a segment, unless it exists already. Returns its digest. The segment is on disk when this returns. */
export function writeSegment(folder: string, { run, first, bodies }: Segment): string {
  const content: Content = {
    run,
    first,
    lengthsI32: int32Column(bodies.map(({ byteLength }) => byteLength)),
    bodies: Buffer.concat(bodies),
  }
  const file = compress(pack(content))
  const sha256 = digestOf(file)
  const path = segmentPath(folder, sha256)
  if (existsSync(path) && digestOf(readFileSync(path)) === sha256) return sha256
  makePrivateFolder(folder)
  const part = `${path}.part`
  const handle = openSync(part, 'w', 0o600)
  try {
    for (let at = 0; at < file.byteLength; ) at += writeSync(handle, file, at)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  renameSync(part, path)
  syncNames(folder)
  return sha256
}

/** Reads and checks a whole segment. Errors: `log.segment-missing`, `log.segment-corrupt`. */
export function readSegment(folder: string, { first, last, sha256 }: SegmentRow): Segment {
  const path = segmentPath(folder, sha256)
  if (!existsSync(path))
    throw new RlError(`the segment with the events ${first} to ${last} is missing: ${path}`, {
      code: 'log.segment-missing',
      hint: 'copy the whole folder of the run, segments included',
    })
  const file = bytesOf(path)
  if (digestOf(file) !== sha256) throw corrupt(path)
  const content = unpackUntrusted(decompress(file, path)) as Content
  const lengths = readInt32(content.lengthsI32)
  let at = 0
  const bodies = Array.from(lengths, (length) => {
    at += length
    return Buffer.from(content.bodies.buffer, content.bodies.byteOffset + at - length, length)
  })
  if (content.first !== first || bodies.length !== last - first + 1 || at !== content.bodies.byteLength)
    throw corrupt(path)
  return { run: content.run, first, bodies }
}

function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new RlError(`${path} cannot be read: ${explain(cause)}`, { code: 'log.segment-corrupt', cause })
  }
}

/** Most segments (of some MB) that a reader keeps. */
const KEPT = 4

/** Returns bodies by position. The segments that were read last are kept. `find` looks a position up in the table. */
export function openSegments(
  folder: string,
  find: (position: number) => SegmentRow | undefined,
): (position: number) => Buffer {
  /** In order of use: the segment that was read last is the last. */
  const kept: Segment[] = []

  function load(position: number): Segment {
    const row = find(position)
    if (row === undefined) throw inNoSegment(position)
    const index = kept.findIndex(({ first }) => first === row.first)
    const [known] = index < 0 ? [] : kept.splice(index, 1)
    const segment = known ?? readSegment(folder, row)
    kept.push(segment)
    if (kept.length > KEPT) kept.shift()
    return segment
  }

  return (position) => {
    const last = kept.at(-1)
    const segment =
      last && last.first <= position && position < last.first + last.bodies.length ? last : load(position)
    const body = segment.bodies[position - segment.first]
    if (body === undefined) throw inNoSegment(position)
    return body
  }
}

function inNoSegment(position: number): RlError {
  return new RlError(`the body of position ${position} is in no segment`, { code: 'log.segment-missing' })
}

function compress(content: Uint8Array): Buffer {
  if (typeof zlib.zstdCompressSync === 'function') {
    const params = { [zlib.constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL }
    return Buffer.concat([Buffer.from(ZSTD), zlib.zstdCompressSync(content, { params })])
  }
  const params = { [zlib.constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY }
  return Buffer.concat([Buffer.from(BROTLI), zlib.brotliCompressSync(content, { params })])
}

function decompress(file: Buffer, path: string): Buffer {
  const magic = file.toString('latin1', 0, MAGIC_BYTES)
  const content = file.subarray(MAGIC_BYTES)
  const options = { maxOutputLength: MOST_BYTES }
  if (magic === BROTLI) return zlib.brotliDecompressSync(content, options)
  if (magic !== ZSTD) throw corrupt(path)
  if (typeof zlib.zstdDecompressSync === 'function') return zlib.zstdDecompressSync(content, options)
  throw new RlError(`${path} is compressed by zstd, which Node ${process.version} does not have`, {
    code: 'log.segment-newer',
    hint: 'read this run with Node 22.15 or newer',
  })
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function corrupt(path: string): RlError {
  return new RlError(`${path} is not what its name says`, {
    code: 'log.segment-corrupt',
    hint: 'restore it from a copy of the run',
  })
}
