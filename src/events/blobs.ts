/** Content-addressed files: `<folder>/<first two digits>/<sha256>`. A file is written once and never changed. */
import { createHash, randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { RlError } from '../errors.ts'
import { makePrivateFolder, syncNames } from '../platform/files.ts'
import type { BlobRef } from './codec.ts'

export type BlobStore = {
  /** The run's own blob folder, then those of its parents. */
  readonly folders: readonly string[]
  /** Stores the bytes and returns their reference. Known bytes are not written again. Durable when it returns. */
  readonly put: (bytes: Uint8Array) => BlobRef
  /** Returns the bytes. Throws if the blob is missing, or if its content does not have its name. */
  readonly get: (ref: BlobRef) => Uint8Array
  /** As `get`, in steps of at most `STEP_BYTES`, so that other work gets a turn. Each step yields its number of bytes. */
  readonly inSteps: (ref: BlobRef) => Generator<number, Uint8Array>
  /** Returns at most `length` bytes from `offset` on. They are not compared with the name. */
  readonly chunk: (ref: BlobRef, offset: number, length: number) => Uint8Array
  readonly has: (sha256: string) => boolean
  /** Deletes a blob of the run's own folder. One that is not there stays so. */
  readonly remove: (sha256: string) => void
  /** Lists the blobs of the run's own folder. */
  readonly own: () => readonly BlobRef[]
  /** Takes a blob piece by piece. */
  readonly begin: (ref: BlobRef) => BlobWriter
}

export type BlobWriter = {
  /** Number of bytes taken so far. */
  readonly written: () => number
  readonly write: (chunk: Uint8Array) => void
  /** Compares the content with the name and keeps the blob. Otherwise deletes it and throws. */
  readonly seal: () => void
  readonly discard: () => void
}

/** Number of bytes that one step reads and hashes. */
const STEP_BYTES = 1024 * 1024
/** An upload is synced to the disk after this many bytes. So its end has few bytes to wait for. */
const SYNCED_BYTES = 8 * 1024 * 1024

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** @param parents blob folders of the runs that this one was forked from; they are only read */
export function openBlobStore(folder: string, parents: readonly string[] = []): BlobStore {
  const pathIn = (root: string, sha256: string) => join(root, sha256.slice(0, 2), checkDigest(sha256))
  const find = (sha256: string) =>
    [folder, ...parents].map((root) => pathIn(root, sha256)).find((path) => existsSync(path))

  function pathOf({ sha256, bytes }: BlobRef): string {
    const path = find(sha256)
    if (path === undefined)
      throw new RlError(`blob ${sha256} is missing from ${folder}`, {
        code: 'blob.missing',
        hint: 'copy the whole folder of the run, blobs included',
      })
    if (statSync(path).size !== bytes) throw corrupt(sha256)
    return path
  }

  function begin(ref: BlobRef): BlobWriter {
    const path = pathIn(folder, ref.sha256)
    makePrivateFolder(dirname(path))
    const part = `${path}.${randomUUID()}.part`
    const file = openSync(part, 'wx', 0o600)
    const hash = createHash('sha256')
    let written = 0
    let unsynced = 0
    const discard = () => {
      closeSync(file)
      rmSync(part, { force: true })
    }
    return {
      written: () => written,
      write(chunk) {
        hash.update(chunk)
        for (let at = 0; at < chunk.byteLength; ) at += writeSync(file, chunk, at)
        written += chunk.byteLength
        unsynced += chunk.byteLength
        if (unsynced < SYNCED_BYTES) return
        fdatasyncSync(file)
        unsynced = 0
      },
      seal() {
        if (written !== ref.bytes || hash.digest('hex') !== ref.sha256) {
          discard()
          throw corrupt(ref.sha256)
        }
        try {
          fsyncSync(file)
        } catch (error) {
          discard()
          throw error
        }
        closeSync(file)
        renameSync(part, path)
        syncNames(dirname(path))
      },
      discard,
    }
  }

  function* inSteps(ref: BlobRef): Generator<number, Uint8Array> {
    const file = openSync(pathOf(ref), 'r')
    try {
      const content = Buffer.allocUnsafeSlow(ref.bytes)
      const hash = createHash('sha256')
      for (let at = 0; at < ref.bytes; ) {
        const read = readSync(file, content, at, Math.min(STEP_BYTES, ref.bytes - at), at)
        if (read === 0) throw corrupt(ref.sha256)
        hash.update(content.subarray(at, at + read))
        at += read
        yield read
      }
      if (hash.digest('hex') !== ref.sha256) throw corrupt(ref.sha256)
      return content
    } finally {
      closeSync(file)
    }
  }

  return {
    folders: [folder, ...parents],
    begin,
    put(bytes) {
      const ref = { sha256: sha256Of(bytes), bytes: bytes.byteLength }
      if (find(ref.sha256)) return ref
      const writer = begin(ref)
      writer.write(bytes)
      writer.seal()
      return ref
    },
    get(ref) {
      const content = readFileSync(pathOf(ref))
      if (sha256Of(content) !== ref.sha256) throw corrupt(ref.sha256)
      return content
    },
    inSteps,
    chunk(ref, offset, length) {
      const file = openSync(pathOf(ref), 'r')
      try {
        const bytes = Buffer.alloc(Math.max(0, Math.min(length, ref.bytes - offset)))
        return bytes.subarray(0, readSync(file, bytes, 0, bytes.byteLength, offset))
      } finally {
        closeSync(file)
      }
    },
    has: (sha256) => find(sha256) !== undefined,
    remove: (sha256) => rmSync(pathIn(folder, sha256), { force: true }),
    own() {
      if (!existsSync(folder)) return []
      return readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((file) => file.isFile() && /^[0-9a-f]{64}$/.test(file.name))
        .map((file) => ({ sha256: file.name, bytes: statSync(join(file.parentPath, file.name)).size }))
    },
  }
}

/** Returns the digest itself, or throws if it is none. The digest becomes a path. */
function checkDigest(sha256: string): string {
  if (/^[0-9a-f]{64}$/.test(sha256)) return sha256
  throw new RlError(`${JSON.stringify(sha256).slice(0, 80)} is no SHA-256`, { code: 'blob.bad-digest' })
}

function corrupt(sha256: string): RlError {
  return new RlError(`blob ${sha256} is not what its name says`, {
    code: 'blob.corrupt',
    hint: 'restore it from a copy of the run',
  })
}
