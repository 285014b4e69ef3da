/** Weights that all processes of a machine share in memory. They map the pages inside a weight from one file. */
import { createHash, randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { findCache } from '../../../package.ts'
import { systemPlatform } from '../../../platform/platform.ts'
import { isAbandoned, parseProcess, processText, THIS_PROCESS } from '../../../platform/process-id.ts'
import type { TensorInfo } from '../../../tensorflow/tensorflow.ts'
import { type Heap, sizeOf } from '../kernels/heap.ts'

export type SharedWeights = {
  /** Maps the tensor's values from the file. Later writes belong to this process alone (copy on write). */
  share(tensor: TensorInfo): void
  /** Ends the use by a closed model. The files go with the last user. */
  close(): void
}

/** Fewest bytes of a shared weight. A file for each smaller one would cost more than it saves. */
const LEAST_BYTES = 256 * 1024
const CHUNK_BYTES = 4 * 1024 * 1024

// Constants of <sys/mman.h> on Linux.
const PROT_READ_WRITE = 0x1 | 0x2
const MAP_PRIVATE_FIXED = 0x2 | 0x10

/** Marks of open models, with their processes. Marks of older versions name no process. */
const USER = /^(?:([0-9a-f]{16}-\d+-\d*)-)?[\w-]+\.user$/
/**
 * Interval of touches of a process's marks, for processes that cannot look whether it lives. A mark that is untouched
 * for `LEASE_MS` has no owner.
 */
const TOUCH_MS = 600_000
const LEASE_MS = 86_400_000

function weightsFolder(): string | null {
  const cache = findCache()
  return cache === null ? null : join(cache, 'shared-weights', systemPlatform.hostname)
}

/**
 * Opens the folder of shared weights. Returns undefined if memory cannot be mapped to files, on other systems than
 * Linux or without koffi. The SHA-256 of its bytes names a weight. The file is compared before use, so no content of
 * the folder can change a model.
 * @param folder folder on a disk of this machine
 */
export async function openSharedWeights(
  heap: Heap,
  folder: string | null = weightsFolder(),
): Promise<SharedWeights | undefined> {
  if (process.platform !== 'linux' || folder === null) return undefined
  const memory = await nativeMemory(heap).catch(() => undefined)
  if (!memory) return undefined
  const mark = join(folder, `${processText(THIS_PROCESS)}-${randomUUID()}.user`)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    removeUnused(folder)
    writeFileSync(mark, '')
  } catch {
    return undefined
  }
  const touching = setInterval(() => touch(mark), TOUCH_MS).unref()

  return {
    share(tensor) {
      const { begin, bytes } = memory.pagesInside(heap.pointer(tensor), 4 * sizeOf(tensor.shape))
      if (bytes < LEAST_BYTES) return
      const values = new Uint8Array(heap.buffer(), begin, bytes)
      const path = join(folder, createHash('sha256').update(values).digest('hex'))
      let file: number | undefined
      try {
        file = openFile(path) ?? writeOnce(path, values)
        if (holds(file, values)) memory.map(begin, bytes, file)
      } catch {
        // The disk is full or the folder is gone. The weight stays in this process's memory.
      } finally {
        if (file !== undefined) closeSync(file)
      }
    },
    close() {
      clearInterval(touching)
      rmSync(mark, { force: true })
      if (existsSync(folder)) removeUnused(folder)
    },
  }
}

/**
 * Removes all files if no living process uses the folder, else only the marks of dead processes. Mapped files stay
 * until their process ends.
 */
function removeUnused(folder: string): void {
  const names = readdirSync(folder)
  const dead = names.filter((name) => {
    const user = USER.exec(name)
    return user !== null && isAbandoned(parseProcess(user[1]), untouchedMs(join(folder, name)), LEASE_MS)
  })
  const used = names.some((name) => USER.test(name) && !dead.includes(name))
  for (const name of used ? dead : names) rmSync(join(folder, name), { force: true })
}

/** Returns the time since the last change, in ms. Returns 0 if the file is gone. */
function untouchedMs(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? 0 : Date.now() - found.mtimeMs
}

function touch(path: string): void {
  try {
    utimesSync(path, new Date(), new Date())
  } catch {
    // The folder and its files are gone. Mapped files stay for their processes.
  }
}

function openFile(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Writes a file whole or not at all. If two processes write it, one file is kept, and both use it. */
function writeOnce(path: string, values: Uint8Array): number {
  const temporary = `${path}.${randomUUID()}`
  try {
    writeFileSync(temporary, values, { mode: 0o400 })
    linkSync(temporary, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(temporary, { force: true })
  }
  return openSync(path, 'r')
}

function holds(file: number, values: Uint8Array): boolean {
  if (fstatSync(file).size !== values.length) return false
  const chunk = Buffer.alloc(CHUNK_BYTES)
  for (let at = 0; at < values.length; at += chunk.length) {
    const expected = values.subarray(at, at + chunk.length)
    const read = readSync(file, chunk, 0, expected.length, at)
    if (!chunk.subarray(0, read).equals(expected)) return false
  }
  return true
}

/** Returns the heap as the kernel sees it. Offsets are those of the heap. */
async function nativeMemory(heap: Heap) {
  const { default: koffi } = await import('koffi')
  const libc = koffi.load(null)
  const pageBytes: number = libc.func('int getpagesize()')()
  const mmap = libc.func(
    'intptr_t mmap(uintptr_t at, size_t bytes, int prot, int flags, int fd, int64_t offset)',
  )
  const base = () => Number(koffi.address(new Uint8Array(heap.buffer())))
  return {
    /** Returns the whole pages inside a piece. The size is negative if there are none. */
    pagesInside(at: number, bytes: number): { begin: number; bytes: number } {
      const origin = base()
      const begin = Math.ceil((origin + at) / pageBytes) * pageBytes
      const end = Math.floor((origin + at + bytes) / pageBytes) * pageBytes
      return { begin: begin - origin, bytes: end - begin }
    },
    map(at: number, bytes: number, file: number): void {
      mmap(base() + at, bytes, PROT_READ_WRITE, MAP_PRIVATE_FIXED, file, 0)
    },
  }
}
