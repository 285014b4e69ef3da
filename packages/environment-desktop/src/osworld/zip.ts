/** ZIP archives in memory: office documents are such. Read with bounds, written without compression. */

import { isUtf8 } from 'node:buffer'
import { crc32, inflateRawSync } from 'node:zlib'
import { RlError } from 'rlanything/kit'

const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50]
const MOST_MEMBERS = 10_000
const LARGEST_MEMBER = 64 * 2 ** 20
const LARGEST_WHOLE = 256 * 2 ** 20

function damaged(why: string): RlError {
  return new RlError(`the archive cannot be read: ${why}`, { code: 'desktop.document' })
}

/**
 * Returns contents by path.
 * @throws RlError `desktop.document`
 */
export function readZip(bytes: Uint8Array): ReadonlyMap<string, Uint8Array> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = buffer.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]))
  if (end < 0 || end + 22 > buffer.length || buffer.readUInt32LE(end) !== END)
    throw damaged('it has no directory')
  const count = buffer.readUInt16LE(end + 10)
  if (count > MOST_MEMBERS) throw damaged(`${count} members`)
  const members = new Map<string, Uint8Array>()
  let whole = 0
  try {
    for (let i = 0, at = buffer.readUInt32LE(end + 16); i < count; i++) {
      if (buffer.readUInt32LE(at) !== CENTRAL) throw damaged('its directory is broken')
      const [method, packed, size] = [
        buffer.readUInt16LE(at + 10),
        buffer.readUInt32LE(at + 20),
        buffer.readUInt32LE(at + 24),
      ]
      const [name, extra, comment] = [
        buffer.readUInt16LE(at + 28),
        buffer.readUInt16LE(at + 30),
        buffer.readUInt16LE(at + 32),
      ]
      const local = buffer.readUInt32LE(at + 42)
      whole += size
      if (size > LARGEST_MEMBER || whole > LARGEST_WHOLE) throw damaged('its contents are too large')
      if (buffer.readUInt32LE(local) !== LOCAL) throw damaged('a member is not in its place')
      const from = local + 30 + buffer.readUInt16LE(local + 26) + buffer.readUInt16LE(local + 28)
      const data = buffer.subarray(from, from + packed)
      if (method !== 0 && method !== 8) throw damaged(`packed by method ${method}`)
      const content = method === 0 ? data : inflateRawSync(data, { maxOutputLength: Math.max(1, size) })
      members.set(buffer.toString('utf8', at + 46, at + 46 + name), content)
      at += 46 + name + extra + comment
    }
  } catch (cause) {
    throw cause instanceof RlError ? cause : damaged(cause instanceof Error ? cause.message : String(cause))
  }
  return members
}

/**
 * Returns the text of a member, or null if there is none.
 * @throws RlError `desktop.document` if it is not UTF-8
 */
export function memberText(members: ReadonlyMap<string, Uint8Array>, path: string): string | null {
  const bytes = members.get(path)
  if (bytes === undefined) return null
  if (!isUtf8(bytes)) throw damaged(`${path} is not UTF-8`)
  return Buffer.from(bytes).toString()
}

/** The same members give the same bytes. */
export function writeZip(members: Readonly<Record<string, string>>): Uint8Array {
  const [files, directory]: [Buffer[], Buffer[]] = [[], []]
  let offset = 0
  for (const [path, text] of Object.entries(members)) {
    const [name, data] = [Buffer.from(path), Buffer.from(text)]
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(0x21, 8) // the first day that a date can tell
    common.writeUInt32LE(crc32(data), 10)
    common.writeUInt32LE(data.length, 14)
    common.writeUInt32LE(data.length, 18)
    common.writeUInt16LE(name.length, 22)
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    files.push(word(LOCAL), common, name, data)
    directory.push(word(CENTRAL), Buffer.from([20, 0]), common, tail, name)
    offset += 30 + name.length + data.length
  }
  const count = Object.keys(members).length
  const end = Buffer.alloc(18)
  end.writeUInt16LE(count, 4)
  end.writeUInt16LE(count, 6)
  end.writeUInt32LE(Buffer.concat(directory).length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...files, ...directory, word(END), end])
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
