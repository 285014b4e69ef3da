/**
 * The door of the pages in a head's process. It costs a listening socket. A process of its own serves the pages: it
 * begins at the first connection, and gets each socket. It ends if nobody looks any more.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { compileCache, nodeWords } from '../../package.ts'
import { linkTo, newSecrets, type Secrets, USUAL_PORT } from './secrets.ts'

/** First message to the process of the pages. */
export type PagesStart = {
  readonly secrets: Secrets
  readonly used: boolean
  readonly port: number
  readonly idleMs: number
}

/** Messages of the process of the pages: a browser has the cookie, a socket was taken, one has ended, it may end. */
export type PagesSaid = 'used' | 'taken' | 'ended' | 'idle'

export type DoorOptions = {
  /** Page that the link opens, e.g. `/r/run-1`. */
  readonly path: string
  /** File for errors of the process of the pages. */
  readonly log: string
  /** Time without a connection after which that process ends. */
  readonly idleMs?: number
}

export type Door = {
  readonly link: string
  /** Number of open connections of browsers. */
  readonly open: () => number
  readonly close: () => Promise<void>
}

const IDLE_MS = 10 * 60_000
/** Time in which the process of the pages must end. */
const END_MS = 1_000
/** Time in which it must take a socket, its start included. A process that does not is replaced. */
const TAKE_MS = 15_000
/** Pages keep little, and make garbage. With these their heaps stay small: the memory is the run's. */
export const SMALL_HEAPS = [
  '--max-semi-space-size=4',
  '--heap-growing-percent=40',
  '--optimize-for-size',
] as const
const PAGES = nodeWords(new URL('./main.ts', import.meta.url)).toSpliced(-1, 0, ...SMALL_HEAPS)
/** Number of processes that a socket is handed to. */
const MOST_TRIES = 2
const HOST = '127.0.0.1'

/**
 * Opens the door on loopback, on port 7717 or on a free one.
 * @throws errors of Node if no port can be had
 */
export async function openDoor({ path, log, idleMs = IDLE_MS }: DoorOptions): Promise<Door> {
  const secrets = newSecrets()
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    socket.on('error', () => {})
    hand(socket)
  })
  const listening = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host: HOST, port }, () => {
        server.off('error', reject)
        resolve()
      })
    })
  await listening(USUAL_PORT).catch(() => listening(0))
  // A limit of open files costs a connection, not the run.
  server.on('error', () => {})
  server.unref()
  const { port } = server.address() as AddressInfo

  let pages: ChildProcess | null = null
  let used = false
  let open = 0
  /** Sockets that the process of the pages was sent and has not taken, the oldest first. */
  let handed: { readonly socket: Socket; readonly atMs: number; readonly tries: number }[] = []

  function begin(): ChildProcess {
    const errors = openSync(log, 'a', 0o600)
    const child = spawn(process.execPath, [...PAGES], {
      stdio: ['ignore', errors, errors, 'ipc'],
      env: { ...compileCache(), ...process.env },
    })
    closeSync(errors)
    child.on('message', (said: PagesSaid) => {
      if (said === 'used') used = true
      if (pages !== child) return
      if (said === 'taken') {
        open++
        // The other process has a copy of its own.
        handed.shift()?.socket.destroy()
      }
      if (said === 'ended') open--
      if (said === 'idle' && handed.length === 0) {
        pages = null
        child.disconnect()
      }
    })
    child.once('exit', () => lose(child))
    child.once('error', () => lose(child))
    child.send({ secrets, used, port, idleMs } satisfies PagesStart, () => {})
    return child
  }

  /** The process is gone or hangs. Sockets that it has not taken go to the next one, once. */
  function lose(child: ChildProcess): void {
    if (pages !== child) return
    const left = handed
    pages = null
    handed = []
    open = 0
    for (const { socket, tries } of left)
      if (tries < MOST_TRIES && server.listening) hand(socket, tries + 1)
      else socket.destroy()
  }

  function hand(socket: Socket, tries = 1): void {
    if (pages !== null && performance.now() - (handed[0]?.atMs ?? Number.POSITIVE_INFINITY) > TAKE_MS) {
      pages.kill('SIGKILL')
      lose(pages)
    }
    try {
      pages ??= begin()
      handed.push({ socket, atMs: performance.now(), tries })
      pages.send('socket', socket, { keepOpen: true }, () => {})
    } catch {
      // There are too many processes, or too little memory.
      socket.destroy()
    }
  }

  return {
    link: linkTo(port, path, secrets),
    open: () => open,
    close: () =>
      new Promise((resolve) => {
        server.close()
        for (const { socket } of handed) socket.destroy()
        const child = pages
        if (child === null || child.exitCode !== null) return resolve()
        const force = setTimeout(() => child.kill('SIGKILL'), END_MS)
        child.once('exit', () => {
          clearTimeout(force)
          resolve()
        })
        if (child.connected) child.disconnect()
      }),
  }
}
