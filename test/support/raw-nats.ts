/** A NATS connection byte by byte: says what no client library would let an honest program say. */
import { connect } from 'node:net'
import type { BusAddress } from '../../src/events/bus.ts'

type RawMessage = {
  readonly subject: string
  readonly reply: string | null
  readonly headers: string
  readonly body: Uint8Array
}

export type RawNats = {
  readonly publish: (
    subject: string,
    body: Uint8Array,
    options?: { readonly reply?: string; readonly headers?: Readonly<Record<string, string>> },
  ) => void
  readonly subscribe: (subject: string) => void
  /** Resolves when the server has done all that was asked before. */
  readonly settle: () => Promise<void>
  /** What the server refused, e.g. `Permissions Violation for Publish to "x"`. */
  readonly refused: readonly string[]
  readonly messages: readonly RawMessage[]
  readonly close: () => void
}

export async function openRawNats({ url, user, password, token }: BusAddress): Promise<RawNats> {
  const { hostname, port } = new URL(url.replace('nats:', 'http:'))
  const socket = connect({ host: hostname, port: Number(port) })
  const refused: string[] = []
  const messages: RawMessage[] = []
  const pongs: (() => void)[] = []
  let buffer = Buffer.alloc(0)
  let subscriptions = 0
  let fail: (error: Error) => void = () => {}
  const broken = new Promise<never>((_, reject) => {
    fail = reject
  })
  broken.catch(() => {})
  socket.on('error', fail).on('close', () => fail(new Error(`the server hung up: ${refused.at(-1) ?? ''}`)))

  function take(): boolean {
    const end = buffer.indexOf('\r\n')
    if (end < 0) return false
    const line = buffer.toString('latin1', 0, end)
    const words = line.split(' ')
    let used = end + 2
    if (words[0] === 'MSG' || words[0] === 'HMSG') {
      const total = Number(words.at(-1))
      const head = words[0] === 'HMSG' ? Number(words.at(-2)) : 0
      if (buffer.length < used + total + 2) return false
      const fields = words.slice(1, words[0] === 'HMSG' ? -2 : -1)
      messages.push({
        subject: fields[0],
        reply: fields.length === 3 ? fields[2] : null,
        headers: buffer.toString('latin1', used, used + head),
        body: Uint8Array.from(buffer.subarray(used + head, used + total)),
      })
      used += total + 2
    } else if (words[0] === '-ERR') refused.push(line.slice(6, -1))
    else if (words[0] === 'PING') socket.write('PONG\r\n')
    else if (words[0] === 'PONG') pongs.shift()?.()
    buffer = buffer.subarray(used)
    return true
  }
  socket.on('data', (chunk) => {
    buffer = Buffer.concat([buffer, chunk])
    while (take());
  })

  function settle(): Promise<void> {
    const pong = new Promise<void>((resolve) => pongs.push(resolve))
    socket.write('PING\r\n')
    return Promise.race([pong, broken])
  }

  const login = token === undefined ? { user, pass: password } : { auth_token: token }
  socket.write(
    `CONNECT ${JSON.stringify({ verbose: false, pedantic: false, headers: true, no_responders: true, ...login })}\r\n`,
  )
  await settle()
  return {
    publish(subject, body, { reply, headers } = {}) {
      const to = reply === undefined ? subject : `${subject} ${reply}`
      if (headers === undefined) socket.write(`PUB ${to} ${body.byteLength}\r\n`)
      else {
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
        const head = `NATS/1.0\r\n${lines.join('')}\r\n`
        socket.write(`HPUB ${to} ${head.length} ${head.length + body.byteLength}\r\n${head}`)
      }
      socket.write(body)
      socket.write('\r\n')
    },
    subscribe(subject) {
      socket.write(`SUB ${subject} ${++subscriptions}\r\n`)
    },
    settle,
    refused,
    messages,
    close: () => socket.destroy(),
  }
}
