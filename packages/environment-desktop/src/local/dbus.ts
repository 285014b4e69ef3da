/** The little of D-Bus that reading accessibility trees takes: method calls over a socket, and answers of any type. */

import { connect, type Socket } from 'node:net'
import { RlError } from 'rlanything/kit'
import { faultError } from './sandbox.ts'

/** User of the processes in the sandbox. */
const USER = '1000'
const DEADLINE_MS = 10_000
const LARGEST_MESSAGE = 16 * 2 ** 20
const MOST_DEPTH = 16
const [METHOD_CALL, METHOD_RETURN, ERROR] = [1, 2, 3]
const FIELD = { path: 1, interface: 2, member: 3, replySerial: 5, destination: 6, signature: 8 } as const

/**
 * Numbers, texts, booleans. Arrays and structs are arrays, dictionaries are maps, variants are their content.
 */
export type DbusValue = number | string | boolean | readonly DbusValue[] | ReadonlyMap<DbusValue, DbusValue>

type DbusCall = {
  readonly destination: string
  readonly path: string
  readonly interface: string
  readonly member: string
  /** Signature of texts (s), objects (o), whole numbers (i, u) and booleans (b). */
  readonly signature?: string
  readonly body?: readonly (string | number | boolean)[]
}

export type Dbus = {
  /**
   * Resolves to the answer's values. Rejects with `dbus.error` if the other side refuses, with `desktop.died`
   * if the bus is gone.
   */
  readonly call: (call: DbusCall) => Promise<readonly DbusValue[]>
  readonly close: () => void
}

type Waiting = {
  readonly done: (values: readonly DbusValue[]) => void
  readonly fail: (error: RlError) => void
}

export async function openDbus(socketPath: string): Promise<Dbus> {
  const socket = connect(socketPath)
  const waiting = new Map<number, Waiting>()
  let broken: RlError | null = null
  const fail = (why: string) => {
    broken ??= faultError(why)
    socket.destroy()
    for (const { fail } of waiting.values()) fail(broken)
    waiting.clear()
  }
  socket.on('error', (error) => fail(`its message bus: ${error.message}`))
  socket.on('close', () => fail('its message bus has ended'))
  let received: Buffer = await greet(socket)
  const take = (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    try {
      for (
        let size = messageSize(received);
        size !== null && received.length >= size;
        size = messageSize(received)
      ) {
        settle(readMessage(received.subarray(0, size)))
        received = received.subarray(size)
      }
    } catch (cause) {
      fail(`its message bus sent an unreadable message: ${cause instanceof Error ? cause.message : cause}`)
    }
  }
  const settle = ({ type, replySerial, values }: Message) => {
    const asked = waiting.get(replySerial)
    if (!asked || (type !== METHOD_RETURN && type !== ERROR)) return
    waiting.delete(replySerial)
    if (type === METHOD_RETURN) asked.done(values)
    else asked.fail(new RlError(String(values[0] ?? 'an error without words'), { code: 'dbus.error' }))
  }
  socket.on('data', take)
  if (received.length > 0) take(Buffer.alloc(0))

  let serial = 0
  function call(asked: DbusCall): Promise<readonly DbusValue[]> {
    if (broken) return Promise.reject(broken)
    const id = ++serial
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(id)
        reject(new RlError(`no answer to ${asked.member}`, { code: 'dbus.error' }))
      }, DEADLINE_MS)
      waiting.set(id, {
        done: (values) => {
          clearTimeout(timer)
          resolve(values)
        },
        fail: (error) => {
          clearTimeout(timer)
          reject(error)
        },
      })
      socket.write(writeCall(asked, id))
    })
  }
  const bus = 'org.freedesktop.DBus'
  await call({ destination: bus, path: '/org/freedesktop/DBus', interface: bus, member: 'Hello' })
  return { call, close: () => socket.destroy() }
}

/** Identifies this side. Resolves to the bytes after the answer. */
function greet(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let text = Buffer.alloc(0)
    const timer = setTimeout(() => end(faultError('its message bus does not answer')), DEADLINE_MS)
    const end = (error: RlError) => {
      clearTimeout(timer)
      socket.off('data', read)
      reject(error)
    }
    const read = (chunk: Buffer) => {
      text = Buffer.concat([text, chunk])
      const line = text.indexOf('\r\n')
      if (line < 0) return
      if (!text.toString('latin1').startsWith('OK ')) return end(faultError('its message bus refuses us'))
      clearTimeout(timer)
      socket.off('data', read)
      socket.write('BEGIN\r\n')
      resolve(text.subarray(line + 2))
    }
    socket.on('data', read)
    socket.once('close', () => end(faultError('its message bus has ended')))
    socket.write(`\0AUTH EXTERNAL ${Buffer.from(USER).toString('hex')}\r\n`)
  })
}

function writeCall(
  { destination, path, interface: face, member, signature = '', body = [] }: DbusCall,
  serial: number,
): Buffer {
  const content = writer()
  for (const [i, type] of [...signature].entries()) {
    const value = body[i]
    if (type === 's' || type === 'o') content.text(String(value))
    else content.number(Number(value), type === 'i')
  }
  const head = writer()
  head.bytes([0x6c, METHOD_CALL, 0, 1])
  head.number(content.length())
  head.number(serial)
  const fields = writer(16)
  const field = (code: number, type: string, value: string) => {
    fields.align(8)
    fields.bytes([code, 1, type.charCodeAt(0), 0])
    if (type === 'g') fields.bytes([value.length, ...Buffer.from(value), 0])
    else fields.text(value)
  }
  field(FIELD.path, 'o', path)
  field(FIELD.interface, 's', face)
  field(FIELD.member, 's', member)
  field(FIELD.destination, 's', destination)
  if (signature !== '') field(FIELD.signature, 'g', signature)
  head.number(fields.length())
  const start = Buffer.concat([head.done(), fields.done()])
  return Buffer.concat([start, Buffer.alloc((8 - (start.length % 8)) % 8), content.done()])
}

/** @param from position of the first written byte, for the alignment */
function writer(from = 0) {
  const parts: number[] = []
  const align = (to: number) => {
    while ((from + parts.length) % to !== 0) parts.push(0)
  }
  const number = (value: number, signed = false) => {
    align(4)
    const bytes = Buffer.alloc(4)
    if (signed) bytes.writeInt32LE(value)
    else bytes.writeUInt32LE(value)
    parts.push(...bytes)
  }
  return {
    align,
    number,
    bytes: (values: readonly number[]) => parts.push(...values),
    text(value: string) {
      const bytes = Buffer.from(value)
      number(bytes.length)
      for (const byte of bytes) parts.push(byte)
      parts.push(0)
    },
    length: () => parts.length,
    done: () => Buffer.from(parts),
  }
}

/** Alignments of types other than four. */
const ALIGNMENT: Readonly<Record<string, number>> = {
  y: 1,
  g: 1,
  v: 1,
  n: 2,
  q: 2,
  x: 8,
  t: 8,
  d: 8,
  '(': 8,
  '{': 8,
}

type Message = { readonly type: number; readonly replySerial: number; readonly values: readonly DbusValue[] }

/**
 * Returns the whole length of the message that begins here, or null if its head is incomplete. Throws if it
 * is no message.
 */
function messageSize(bytes: Buffer): number | null {
  if (bytes.length < 16) return null
  if (bytes[0] !== 0x6c) throw new Error('not of the least significant byte first')
  const [body, fields] = [bytes.readUInt32LE(4), bytes.readUInt32LE(12)]
  const size = 16 + Math.ceil(fields / 8) * 8 + body
  if (size > LARGEST_MESSAGE) throw new Error(`a message of ${size} bytes`)
  return size
}

function readMessage(bytes: Buffer): Message {
  const head = reader(bytes, 12)
  const fields = head.read('a(yv)')[0] as readonly (readonly DbusValue[])[]
  const field = (code: number) => fields.find(([known]) => known === code)?.[1]
  const body = reader(bytes, Math.ceil((16 + bytes.readUInt32LE(12)) / 8) * 8)
  return {
    type: bytes.readUInt8(1),
    replySerial: Number(field(FIELD.replySerial) ?? 0),
    values: body.read(String(field(FIELD.signature) ?? '')),
  }
}

function reader(bytes: Buffer, start: number) {
  let at = start
  const align = (to: number) => {
    at = Math.ceil(at / to) * to
  }
  const number = (size: number, read: (from: number) => number) => {
    align(size)
    at += size
    return read(at - size)
  }
  const text = (length: number) => {
    if (at + length + 1 > bytes.length) throw new Error('a text beyond the end')
    at += length + 1
    return bytes.toString('utf8', at - length - 1, at - 1)
  }

  function value(type: string, depth: number): DbusValue {
    if (depth > MOST_DEPTH) throw new Error('too deep')
    switch (type[0]) {
      case 'y':
        return number(1, (from) => bytes.readUInt8(from))
      case 'b':
        return number(4, (from) => bytes.readUInt32LE(from)) !== 0
      case 'n':
        return number(2, (from) => bytes.readInt16LE(from))
      case 'q':
        return number(2, (from) => bytes.readUInt16LE(from))
      case 'i':
        return number(4, (from) => bytes.readInt32LE(from))
      case 'u':
      case 'h':
        return number(4, (from) => bytes.readUInt32LE(from))
      case 'x':
        return number(8, (from) => Number(bytes.readBigInt64LE(from)))
      case 't':
        return number(8, (from) => Number(bytes.readBigUInt64LE(from)))
      case 'd':
        return number(8, (from) => bytes.readDoubleLE(from))
      case 's':
      case 'o':
        return text(number(4, (from) => bytes.readUInt32LE(from)))
      case 'g':
        return text(number(1, (from) => bytes.readUInt8(from)))
      case 'v': {
        const inner = text(number(1, (from) => bytes.readUInt8(from)))
        return value(inner, depth + 1)
      }
      case '(': {
        align(8)
        return types(type.slice(1, -1)).map((one) => value(one, depth + 1))
      }
      case 'a':
        return array(type.slice(1), depth)
      default:
        throw new Error(`a value of type '${type}'`)
    }
  }

  function array(inner: string, depth: number): DbusValue {
    const length = number(4, (from) => bytes.readUInt32LE(from))
    align(ALIGNMENT[inner.charAt(0)] ?? 4)
    const end = at + length
    if (end > bytes.length) throw new Error('a list beyond the end')
    const found: DbusValue[] = []
    const pairs = new Map<DbusValue, DbusValue>()
    const [ofKey = '', ofValue = ''] = inner[0] === '{' ? types(inner.slice(1, -1)) : []
    while (at < end) {
      if (inner[0] !== '{') found.push(value(inner, depth + 1))
      else {
        align(8)
        const key = value(ofKey, depth + 1)
        pairs.set(key, value(ofValue, depth + 1))
      }
    }
    return inner[0] === '{' ? pairs : found
  }

  return { read: (signature: string) => types(signature).map((type) => value(type, 0)) }
}

/** A signature's whole types. */
function types(signature: string): readonly string[] {
  const found: string[] = []
  for (let at = 0; at < signature.length; ) {
    const start = at
    while (signature[at] === 'a') at++
    if (signature[at] === '(' || signature[at] === '{') {
      let open = 0
      do {
        if ('({'.includes(signature[at] ?? '')) open++
        if (')}'.includes(signature[at] ?? '')) open--
        if (at++ >= signature.length) throw new Error(`the type '${signature}' does not end`)
      } while (open > 0)
    } else at++
    found.push(signature.slice(start, at))
  }
  return found
}
