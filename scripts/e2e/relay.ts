/**
 * A relay of TCP connections that delays and loses, for kernels without netem. A lost frame is what TCP makes of it: it comes again
 * after the time of a repeat, and all behind it waits.
 *
 *   node bin/launch.mjs scripts/e2e/relay.ts --listen 10.0.0.1:4222 --to /tmp/out.sock [--delay-ms 50] [--loss 0.01]
 */
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { rng, seedOf } from '../../src/random.ts'

export type Bad = {
  /** Of each frame in either direction. */
  readonly delayMs: number
  /** Share of frames that are lost, 0 to 1. */
  readonly loss: number
}

export type RelayOptions = Bad & {
  /** `address:port`, or the path of a socket. */
  readonly listen: string
  readonly to: string
  readonly seed?: number
}

/** Bytes of a frame on an Ethernet. */
const FRAME = 1_448
/** Linux repeats a frame after 200 ms at the earliest. */
const REPEAT_MS = 200
/** Bytes of one direction that are under way at most. The sender waits for more. */
const MOST_HELD = 4 << 20

/**
 * Returns a function that tells when bytes arrive which are sent now. None arrives before those that were sent before.
 * @param draw numbers from 0 to below 1
 */
export function openPath({ delayMs, loss }: Bad, draw: () => number): (now: number, bytes: number) => number {
  let last = 0
  return function arrivalOf(now, bytes) {
    const arrives = 1 - loss
    const isLost = draw() >= arrives ** Math.ceil(bytes / FRAME)
    last = Math.max(last, now + delayMs + (isLost ? REPEAT_MS : 0))
    return last
  }
}

/** Listens, and relays each connection. Resolves once it listens. */
export function openRelay({ listen, to, seed = 1, ...bad }: RelayOptions): Promise<Server> {
  const draws = rng(seedOf(seed, 'relay'))
  const draw = () => draws.uniform()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const far = createConnection({ ...placeOf(to), allowHalfOpen: true, noDelay: true })
    relay(near, far, openPath(bad, draw))
    relay(far, near, openPath(bad, draw))
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(placeOf(listen), () => resolve(server))
  })
}

function relay(from: Socket, to: Socket, arrivalOf: (now: number, bytes: number) => number): void {
  let held = 0
  // Timers of one millisecond fire in any order: each lets go what is oldest.
  const line: (() => void)[] = []
  const later = (bytes: number, act: () => void) => {
    const now = performance.now()
    line.push(act)
    setTimeout(() => line.shift()?.(), arrivalOf(now, bytes) - now)
  }
  from.on('data', (chunk) => {
    held += chunk.byteLength
    if (held > MOST_HELD) from.pause()
    later(chunk.byteLength, () => {
      held -= chunk.byteLength
      if (held <= MOST_HELD) from.resume()
      if (to.writable) to.write(chunk)
    })
  })
  from.on('end', () => later(0, () => to.end()))
  from.on('error', () => to.destroy())
  from.on('close', (failed) => {
    if (failed) to.destroy()
  })
}

function placeOf(text: string): { readonly path: string } | { readonly host: string; readonly port: number } {
  if (text.includes('/')) return { path: text }
  const at = text.lastIndexOf(':')
  return { host: text.slice(0, at), port: Number(text.slice(at + 1)) }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      listen: { type: 'string', default: '' },
      to: { type: 'string', default: '' },
      'delay-ms': { type: 'string', default: '0' },
      loss: { type: 'string', default: '0' },
    },
  })
  const { listen, to, loss } = values
  await openRelay({ listen, to, delayMs: Number(values['delay-ms']), loss: Number(loss) })
  process.stdout.write('listening\n')
}
