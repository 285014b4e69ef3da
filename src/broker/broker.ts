/**
 * The broker of a run: a real nats-server on the loopback interface, or on one address for other hosts. It dies with this process, however this
 * process ends. If it dies alone, it is started again on the same port, with the same users and store.
 */
import { type ChildProcess, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { pause } from '../clock.ts'
import { explain, RlError } from '../errors.ts'
import type { BusAddress } from '../events/bus.ts'
import { connectBus } from '../events/nats/connect.ts'
import { USERS, type User } from '../events/users.ts'
import { spawnGuarded } from '../platform/processes.ts'
import { writePrivately } from './connection.ts'
import { findNatsServer } from './find.ts'
import type { Join } from './joins.ts'
import { inUrl, type Monitor, type Place, serverConfig } from './server-config.ts'

export type Broker = {
  readonly url: string
  /** Returns how a user reaches the broker. */
  readonly addressOf: (user: User) => BusAddress
  /** URL of the server's figures, e.g. the fill of its queues. Null if it tells none. */
  readonly monitor: string | null
  /** Process id of the nats-server at this time, or null while it is being started again. */
  readonly pid: () => number | null
  /** Number of times that it had to be started again. */
  readonly restarts: () => number
  /**
   * Kills a server that lives but does not answer, so it is started again. A server that is starting is left
   * alone.
   */
  readonly restart: (reason: string) => void
  readonly stop: () => Promise<void>
}

export type BrokerOptions = {
  /** Folder for its store, config and log, e.g. runs/<run>/broker. */
  readonly folder: string
  readonly run: string
  /** Port to use again after a restart of the head, so that actors find the broker. */
  readonly port?: number
  /** Address that other hosts reach, and its certificates. Without it the server listens on loopback alone. */
  readonly place?: Place
  /** Address of its figures. Without it they are on loopback, and only if other hosts reach a server that is alone. */
  readonly monitor?: Monitor
  /** Hosts that may join, asked for once a second. The server learns of a change without a restart. */
  readonly joins?: () => readonly Join[]
  /** Passwords of users who had one. Other users get a new one. */
  readonly passwords?: Partial<Record<User, string>>
  /** Secret key of the only process of this machine that reads, in place of users with passwords. */
  readonly nkey?: string
  /** Called for each restart, and for the reason why one fails, for the progress display. */
  readonly onRestart?: (reason: string) => void
}

/** Longest silence of the server while it starts. It writes a line for each stream that it restores. */
const READY_MS = 10_000
const ENDED = 'nats-server ended'
/** Interval of reports about a server that cannot be started. */
const TELL_MS = 60_000
const LOOPBACK = '127.0.0.1'
/** Port of a broker that other hosts reach, if it is free: firewalls are opened for it. */
const USUAL_PORT = 4_222
/** Port of its figures, if it is free. */
const USUAL_MONITOR = 8_222
const LOOK_MS = 1_000

export async function startBroker({
  folder,
  run,
  onRestart,
  place,
  joins = () => [],
  nkey,
  ...wanted
}: BrokerOptions): Promise<Broker> {
  const host = place?.host ?? LOOPBACK
  const { path: program } = await findNatsServer()
  const passwords: Partial<Record<User, string>> = Object.fromEntries(
    (nkey === undefined ? USERS : []).map((user) => [
      user,
      wanted.passwords?.[user] ?? randomBytes(24).toString('base64url'),
    ]),
  )
  const paths = {
    config: join(folder, 'nats.conf'),
    pid: join(folder, 'nats.pid'),
    log: join(folder, 'nats.log'),
    store: join(folder, 'store'),
  }
  mkdirSync(paths.store, { recursive: true, mode: 0o700 })
  await killLeftover(paths.pid, paths.config)

  const member = place?.cluster?.members[place.cluster.index]
  const known = [wanted.port, ...(place ? [USUAL_PORT] : [])]
  /** The other members of a cluster know its port. A port that a person chose is open between the hosts. */
  const free = async () =>
    member?.port ?? place?.port ?? (await firstFree(known, host)) ?? (await freePort(host))
  let port = await free()
  const hasMonitor = wanted.monitor === undefined && place !== undefined && !place.cluster
  let monitor = wanted.monitor ?? (hasMonitor ? await freeMonitor() : null)
  let guard: ChildProcess | null = null
  let ready = false
  let stopped = false
  let restarts = 0
  let written = ''
  let endReason = ENDED
  let starting: Promise<void> = Promise.resolve()

  function url(): string {
    return `${place ? 'tls' : 'nats'}://${inUrl(host)}:${port}`
  }

  function addressOf(user: User): BusAddress {
    const ca = place?.certificates.ca
    if (nkey !== undefined) return { url: url(), user: 'tool', nkey, ca }
    return { url: url(), user, password: passwords[user], ca }
  }

  async function start(): Promise<void> {
    await killLeftover(paths.pid, paths.config)
    writeConfig()
    const child = spawnGuarded(program, ['-c', paths.config])
    guard = child
    let ended = false
    const end = () => {
      ended = true
      if (guard !== child) return
      guard = null
      const died = ready
      ready = false
      if (died && !stopped) startAgain()
    }
    child.once('exit', end)
    // Too many processes or too little memory: it was never started.
    child.once('error', end)
    let until = performance.now() + READY_MS
    let size = 0
    while (!ready) {
      if (ended || performance.now() > until) {
        child.stdin?.end()
        throw new RlError(`nats-server did not start: ${lastLines(paths.log)}`, {
          code: 'broker.not-started',
          hint: `look into ${paths.log}`,
        })
      }
      ready = (await answers(addressOf('head'))) && !ended
      if (sizeOf(paths.log) !== size) until = performance.now() + READY_MS
      size = sizeOf(paths.log)
      if (!ready) await pause(25)
    }
  }

  /**
   * Writes the config only if it changed. So a full disk does not keep the server from being started again.
   */
  function writeConfig(): void {
    const text = serverConfig({
      run,
      host,
      port,
      passwords,
      place,
      monitor,
      joins: living(joins()),
      ...paths,
    })
    if (!existsSync(paths.config) || readFileSync(paths.config, 'utf8') !== text)
      writePrivately(paths.config, text)
    written = text
  }

  /** Tells the server who may join now. It ends the connections of those who may not any more. */
  function refreshJoins(): void {
    const before = written
    try {
      if (ready) writeConfig()
      const pid = written === before ? null : readPid(paths.pid)
      if (pid !== null && isOurs(pid, paths.config)) process.kill(pid, 'SIGHUP')
    } catch (error) {
      // It is tried again with the next look.
      written = before
      onRestart?.(`who may join could not be told to nats-server: ${explain(error)}`)
    }
  }

  function startAgain(): void {
    restarts++
    onRestart?.(`${endReason} and is started again`)
    endReason = ENDED
    starting = startUntilItStands()
  }

  async function startUntilItStands(): Promise<void> {
    let tellAt = 0
    for (let attempt = 0; !stopped; attempt++) {
      try {
        return await start()
      } catch (error) {
        if (performance.now() >= tellAt) {
          onRestart?.(`nats-server cannot be started, and is tried again: ${explain(error)}`)
          tellAt = performance.now() + TELL_MS
        }
        if (hasMonitor) monitor = await freeMonitor()
        await pause(Math.min(2_000, 100 * 2 ** attempt))
      }
    }
  }

  for (let attempt = 0; ; attempt++) {
    try {
      await start()
      break
    } catch (error) {
      // Somebody may have taken the port between the look and the start.
      if (attempt === 2 || member) throw error
      port = await freePort(host)
      if (hasMonitor) monitor = await freeMonitor()
    }
  }
  const look = place ? setInterval(refreshJoins, LOOK_MS) : undefined

  return {
    url: url(),
    addressOf,
    get monitor() {
      return monitor && `http://${inUrl(monitor.host)}:${monitor.port}`
    },
    pid: () => (guard ? readPid(paths.pid) : null),
    restarts: () => restarts,
    restart(reason) {
      if (stopped || !ready) return
      endReason = reason
      guard?.stdin?.end()
    },
    async stop() {
      stopped = true
      clearInterval(look)
      await starting
      const child = guard
      if (!child) return
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
      const pid = readPid(paths.pid)
      if (pid !== null && isOurs(pid, paths.config)) process.kill(pid, 'SIGTERM')
      else child.stdin?.end()
      const force = setTimeout(() => child.stdin?.end(), 3_000)
      await ended
      clearTimeout(force)
    },
  }
}

async function freeMonitor(): Promise<Monitor> {
  return { host: LOOPBACK, port: (await firstFree([USUAL_MONITOR], LOOPBACK)) ?? (await freePort(LOOPBACK)) }
}

/** A server that an earlier head left behind would hold the port and the store. */
async function killLeftover(pidFile: string, config: string): Promise<void> {
  const pid = readPid(pidFile)
  if (pid === null || !isOurs(pid, config)) return
  process.kill(pid, 'SIGKILL')
  for (let wait = 0; wait < 200 && isOurs(pid, config); wait++) await pause(10)
}

function readPid(path: string): number | null {
  if (!existsSync(path)) return null
  const pid = Number(readFileSync(path, 'utf8'))
  return Number.isSafeInteger(pid) && pid > 1 ? pid : null
}

/**
 * Whether the process is a server with this config. Process numbers are used again, and mean others in a
 * container.
 */
function isOurs(pid: number, config: string): boolean {
  return commandLineOf(pid).includes(config)
}

/** Empty if the system does not tell it: such a process is left alone. */
function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    if (existsSync('/proc/self')) return ''
    const { stdout } = spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
    return stdout ?? ''
  }
}

async function answers(address: BusAddress): Promise<boolean> {
  try {
    const bus = await connectBus({ ...address, timeoutMs: 1_000 })
    await bus.close()
    return true
  } catch (error) {
    if (error instanceof RlError && error.code === 'bus.wrong-token')
      throw new RlError(`${address.url} is taken by another nats-server`, { code: 'broker.port-taken' })
    return false
  }
}

/** Returns the first port that nobody has taken at an address, or null. */
async function firstFree(ports: readonly (number | undefined)[], host: string): Promise<number | null> {
  for (const port of ports) if (port && (await isFree(port, host))) return port
  return null
}

function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        cause.code === 'EADDRNOTAVAIL' || cause.code === 'ENOTFOUND'
          ? new RlError(`'${host}' is no address of this machine`, {
              code: 'broker.bad-address',
              hint: 'give --cluster an address that ip addr lists, and that the other hosts reach',
              cause,
            })
          : cause,
      ),
    )
    server.listen(0, host, () => {
      const address = server.address()
      server.close(() =>
        address && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, host, () => server.close(() => resolve(true)))
  })
}

/** Leaves out rights whose time is over. */
function living(joins: readonly Join[]): readonly Join[] {
  const now = Date.now()
  return joins.filter(({ until }) => until > now)
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function lastLines(path: string): string {
  if (!existsSync(path)) return 'it wrote no log'
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-3).join(' | ').slice(-500)
}
