/** A small WebSocket server for tests: text frames without fragments, as much of RFC 6455 as clients of Node need. */
import { createHash } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const [TEXT, CLOSE, PING, PONG] = [1, 8, 9, 10]

export type Peer = {
  readonly send: (text: string) => void
  readonly close: () => void
  /** The bytes below, for servers that break the rules. */
  readonly socket: Socket
}

export type Handlers = { readonly message: (text: string) => void; readonly closed?: () => void }

/** Calls back for each connection to `/ws`. */
export function acceptSockets(server: Server, accept: (peer: Peer) => Handlers): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    if (request.url?.split('?')[0] !== '/ws') return void socket.destroy()
    const key = createHash('sha1').update(`${request.headers['sec-websocket-key']}${MAGIC}`).digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`,
    )
    const close = () => {
      if (!socket.writableEnded) socket.end(frame(CLOSE, Buffer.from([3, 232])))
    }
    const handlers = accept({
      send: (text) => void socket.write(frame(TEXT, Buffer.from(text))),
      close,
      socket,
    })
    let rest = Buffer.alloc(0)
    socket.on('data', (part: Buffer) => {
      rest = Buffer.concat([rest, part])
      for (let read = readFrame(rest); read; read = readFrame(rest)) {
        rest = rest.subarray(read.size)
        if (read.opcode === TEXT) handlers.message(read.body.toString('utf8'))
        else if (read.opcode === PING) socket.write(frame(PONG, read.body))
        else if (read.opcode === CLOSE) close()
      }
    })
    socket.on('error', () => {})
    socket.on('close', () => handlers.closed?.())
  })
}

function frame(opcode: number, body: Buffer): Buffer {
  const head = Buffer.alloc(body.length < 126 ? 2 : body.length < 65_536 ? 4 : 10)
  head[0] = 0x80 | opcode
  if (head.length === 2) head[1] = body.length
  else if (head.length === 4) {
    head[1] = 126
    head.writeUInt16BE(body.length, 2)
  } else {
    head[1] = 127
    head.writeBigUInt64BE(BigInt(body.length), 2)
  }
  return Buffer.concat([head, body])
}

function readFrame(
  bytes: Buffer,
): { readonly opcode: number; readonly body: Buffer; readonly size: number } | null {
  if (bytes.length < 2) return null
  const short = bytes.readUInt8(1) & 0x7f
  const at = short < 126 ? 2 : short === 126 ? 4 : 10
  if (bytes.length < at + 4) return null
  const length =
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  const size = at + 4 + length
  if (bytes.length < size) return null
  const mask = bytes.subarray(at, at + 4)
  const body = Buffer.from(bytes.subarray(at + 4, size))
  for (let index = 0; index < length; index++) body[index] = (body[index] ?? 0) ^ (mask[index % 4] ?? 0)
  return { opcode: bytes.readUInt8(0) & 0x0f, body, size }
}
