import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { access, chmod, constants, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, inflateRawSync } from 'node:zlib'
import { RlError } from '../../errors.ts'
import { cachePlace } from '../../package.ts'
import { makePublicFolder } from '../../platform/public-folder.ts'

/** A file inside an archive. */
export type ArchiveMember = {
  readonly path: string
  /** @throws RlError if the member is damaged or longer than `limit` bytes */
  readonly read: (limit: number) => Promise<Buffer>
}

const SUFFIX = /\.(zip|tar|tar\.gz|tgz|tar\.xz)$/i
export const isArchive = (path: string) => SUFFIX.test(path)

/**
 * Returns the files in a .zip, .tar, .tar.gz or .tar.xz, in the archive's order. A compressed tar is unpacked
 * once into the cache.
 */
export async function archiveMembers(path: string): Promise<readonly ArchiveMember[]> {
  const suffix = SUFFIX.exec(path)?.[1]?.toLowerCase()
  switch (suffix) {
    case 'zip':
      return zipMembers(path)
    case 'tar':
      return tarMembers(path)
    case 'tar.gz':
    case 'tgz':
    case 'tar.xz':
      return tarMembers(await unpackedTar(path, suffix === 'tar.xz'))
    default:
      throw damaged(path, 'is no .zip, .tar, .tar.gz or .tar.xz')
  }
}

/** Returns the path of the unpacked tar, from the cache if it is there. */
async function unpackedTar(path: string, isXz: boolean): Promise<string> {
  const { size, mtimeMs } = await stat(path)
  const key = createHash('sha256')
    .update(`${resolve(path)}\n${size}\n${mtimeMs}`)
    .digest('hex')
    .slice(0, 16)
  const target = join(cachePlace('alfworld'), `${basename(path).replace(SUFFIX, '')}-${key}.tar`)
  if (await canBeRead(target)) return target
  makePublicFolder(dirname(target))
  const partial = `${target}.${randomUUID()}.partial`
  try {
    const unpacked = isXz ? await xzOutput(path) : createReadStream(path).pipe(createGunzip())
    await pipeline(unpacked, createWriteStream(partial))
    await chmod(partial, 0o644)
    await rename(partial, target)
  } catch (cause) {
    await rm(partial, { force: true })
    if (cause instanceof RlError) throw cause
    throw damaged(path, 'cannot be unpacked', cause)
  }
  return target
}

/** Returns the output of the system's `xz -dc`. Ends with an error if xz does. */
async function xzOutput(path: string): Promise<Readable> {
  const child = spawn('xz', ['-dc', '--', path], { stdio: ['ignore', 'pipe', 'ignore'] })
  await new Promise<void>((started, failed) => {
    child.once('spawn', started)
    child.once('error', (cause) =>
      failed(
        new RlError(`${path} needs the program xz, which is not installed`, {
          code: 'alfworld.no-xz',
          hint: 'install xz (xz-utils), or unpack the archive and give the folder',
          cause,
        }),
      ),
    )
  })
  child.once('close', (code) => {
    if (code !== 0) child.stdout.destroy(damaged(path, `is refused by xz (status ${code})`))
  })
  return child.stdout
}

const canBeRead = (path: string) =>
  access(path, constants.R_OK).then(
    () => true,
    () => false,
  )

const BLOCK = 512
const LONG_NAME = 'L'
const PAX = 'x'

async function tarMembers(path: string): Promise<ArchiveMember[]> {
  const file = await open(path)
  try {
    const { size: total } = await file.stat()
    const header = Buffer.alloc(BLOCK)
    const members: ArchiveMember[] = []
    let longName: string | undefined
    for (let at = 0; at + BLOCK <= total; ) {
      await file.read(header, 0, BLOCK, at)
      if (header[0] === 0) break
      if (!isTarHeader(header)) throw damaged(path, `has no tar header at byte ${at}`)
      const size = Number.parseInt(text(header, 124, 12), 8) || 0
      const type = header.toString('latin1', 156, 157)
      const start = at + BLOCK
      if (start + size > total) throw damaged(path, 'ends in the middle of a file')
      if (type === LONG_NAME || type === PAX) {
        const extra = Buffer.alloc(Math.min(size, 65_536))
        await file.read(extra, 0, extra.length, start)
        longName = type === LONG_NAME ? text(extra, 0, extra.length) : paxPath(extra.toString('utf8'))
      } else {
        const prefix = text(header, 257, 5) === 'ustar' ? text(header, 345, 155) : ''
        const name = longName ?? (prefix ? `${prefix}/` : '') + text(header, 0, 100)
        longName = undefined
        if (type === '0' || type === '\0')
          members.push({ path: name, read: (limit) => readRange(path, start, size, limit) })
      }
      at = start + Math.ceil(size / BLOCK) * BLOCK
    }
    return members
  } finally {
    await file.close()
  }
}

/** Checks the header's checksum: the sum of its bytes, with blanks in place of the checksum itself. */
function isTarHeader(header: Buffer): boolean {
  let sum = 8 * 32
  header.forEach((byte, i) => {
    if (i < 148 || i >= 156) sum += byte
  })
  return sum === Number.parseInt(text(header, 148, 8), 8)
}

function text(buffer: Buffer, start: number, length: number): string {
  const bytes = buffer.subarray(start, start + length)
  const end = bytes.indexOf(0)
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end).trim()
}

const paxPath = (records: string) => /(?:^|\n)\d+ path=([^\n]*)\n/.exec(records)?.[1]

async function readRange(path: string, start: number, size: number, limit: number): Promise<Buffer> {
  if (size > limit) throw damaged(path, `holds a file of ${size} bytes, more than ${limit}`)
  const file = await open(path)
  try {
    const buffer = Buffer.alloc(size)
    const { bytesRead } = await file.read(buffer, 0, size, start)
    if (bytesRead < size) throw damaged(path, 'ends in the middle of a file')
    return buffer
  } finally {
    await file.close()
  }
}

const END_OF_DIRECTORY = 0x06054b50
const DIRECTORY_ENTRY = 0x02014b50
const LOCAL_HEADER = 0x04034b50
const MAX_DIRECTORY = 256 * 1024 * 1024

async function zipMembers(path: string): Promise<ArchiveMember[]> {
  const { size: total } = await stat(path)
  const tailLength = Math.min(total, 65_557)
  const tail = await readRange(path, total - tailLength, tailLength, tailLength)
  let end = tailLength - 22
  while (end >= 0 && tail.readUInt32LE(end) !== END_OF_DIRECTORY) end--
  if (end < 0) throw damaged(path, 'has no zip directory at its end')
  const count = tail.readUInt16LE(end + 10)
  const length = tail.readUInt32LE(end + 12)
  const offset = tail.readUInt32LE(end + 16)
  if (count === 0xffff || offset === 0xffffffff)
    throw damaged(path, 'is a zip64 archive, which is not supported; unpack it and give the folder')
  if (offset + length > total) throw damaged(path, 'has a damaged zip directory')
  const directory = await readRange(path, offset, length, MAX_DIRECTORY)
  const members: ArchiveMember[] = []
  for (let at = 0, i = 0; i < count; i++) {
    if (at + 46 > length || directory.readUInt32LE(at) !== DIRECTORY_ENTRY)
      throw damaged(path, 'has a damaged zip directory')
    const method = directory.readUInt16LE(at + 10)
    const packed = directory.readUInt32LE(at + 20)
    const size = directory.readUInt32LE(at + 24)
    const nameLength = directory.readUInt16LE(at + 28)
    const extras = directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32)
    const local = directory.readUInt32LE(at + 42)
    const name = directory.toString('utf8', at + 46, at + 46 + nameLength)
    at += 46 + nameLength + extras
    if (!name.endsWith('/'))
      members.push({ path: name, read: (limit) => readZipped(path, { method, packed, size, local }, limit) })
  }
  return members
}

type Zipped = {
  readonly method: number
  readonly packed: number
  readonly size: number
  readonly local: number
}

async function readZipped(
  path: string,
  { method, packed, size, local }: Zipped,
  limit: number,
): Promise<Buffer> {
  if (size > limit) throw damaged(path, `holds a file of ${size} bytes, more than ${limit}`)
  const header = await readRange(path, local, 30, 30)
  if (header.readUInt32LE(0) !== LOCAL_HEADER) throw damaged(path, 'has a damaged zip entry')
  const start = local + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)
  const data = await readRange(path, start, packed, limit)
  if (method === 0) return data
  if (method !== 8) throw damaged(path, `uses zip method ${method}, only 0 and 8 are supported`)
  try {
    return inflateRawSync(data, { maxOutputLength: limit })
  } catch (cause) {
    throw damaged(path, 'has a damaged zip entry', cause)
  }
}

function damaged(path: string, what: string, cause?: unknown): RlError {
  return new RlError(`${path} ${what}`, {
    code: 'alfworld.archive',
    hint: 'fetch the archive again, or unpack it and give the folder',
    cause,
  })
}
