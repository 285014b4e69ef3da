/** Connects to a nats-server within a deadline. Errors say what is wrong. */
import { connect as connectSocket } from 'node:net'
import { checkServerIdentity } from 'node:tls'
import {
  connect as connectNats,
  errors,
  type NodeConnectionOptions,
  nkeyAuthenticator,
  type TlsOptions,
} from '@nats-io/transport-node'
import { pause } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import { itemAt } from '../../item-at.ts'
import type { Bus, BusAddress } from '../bus.ts'
import { inboxPrefixOf, isUser, type User } from '../users.ts'
import { busOver } from './bus.ts'
import { rightEnded } from './errors.ts'

export type BusOptions = BusAddress & {
  /** Name in the server's monitoring. */
  readonly name?: string
  /** Time that the first connection may take. Time in which this process itself was busy does not count. */
  readonly timeoutMs?: number
  /** Number of brokers of a cluster that keep each stream which this connection makes. Default: 1. */
  readonly replicas?: number
}

/** The server did not answer in time. */
class NoAnswer extends RlError {
  override readonly name = 'NoAnswer'

  constructor(shown: string, timeoutMs: number) {
    super(`${shown} did not answer within ${timeoutMs} ms`, NO_ANSWER)
  }
}

/**
 * Connects within the deadline. The error says whether nobody answered or the token was wrong.
 * @example
 * const bus = await connectBus({ url: 'nats://127.0.0.1:4222', token: process.env.NATS_TOKEN })
 */
export async function connectBus(options: BusOptions): Promise<Bus> {
  const { timeoutMs = 5_000 } = options
  const listened = openListeningTime()
  const began = performance.now()
  try {
    for (;;)
      try {
        return await connectOnce(options, timeoutMs)
      } catch (error) {
        const isEarly = options.nkey !== undefined && performance.now() - began < LET_IN_MS
        // A process hears nothing while it folds its log. The answer may have been there in time.
        const isUnheard = error instanceof NoAnswer && listened.ms() < 0.9 * timeoutMs
        if (!isUnheard && !(isEarly && isPassing(error))) throw error
        await pause(isUnheard ? 50 : 250)
      }
  } finally {
    listened.close()
  }
}

/**
 * Time in which a host is tried again. Each host that is let in makes the server read its config anew, and the server refuses or
 * forgets others that connect in that moment.
 */
const LET_IN_MS = 5_500

function isPassing(error: unknown): boolean {
  return error instanceof NoAnswer || (error instanceof RlError && error.code === 'bus.wrong-token')
}

/**
 * Does as `connectBus`, but tries again without end as long as nobody answers. It serves the head of a broker that the
 * head itself restarts. It also serves the processes of that head, which end with it.
 */
export async function connectPatiently(options: BusOptions): Promise<Bus> {
  for (;;)
    try {
      return await connectBus(options)
    } catch (error) {
      if (!(error instanceof RlError && error.code === NO_ANSWER.code)) throw error
      await pause(AGAIN_MS)
    }
}

const AGAIN_MS = 100
const PINGS = { pingInterval: 5_000, maxPingOut: 3 }
const QUICK_PINGS = { pingInterval: 1_000, maxPingOut: 2 }

async function connectOnce(options: BusOptions, timeoutMs: number): Promise<Bus> {
  const { name = 'rlanything' } = options
  const address = parseAddress(options)
  const greeting = await probeAny(address, timeoutMs)
  const settings: NodeConnectionOptions = {
    ...address.login,
    ...(options.nkey === undefined ? {} : { authenticator: nkeyAuthenticator(Buffer.from(options.nkey)) }),
    ...(address.tls ? { tls: tlsOptions(address, options.ca) } : {}),
    inboxPrefix: inboxPrefixOf(address.user),
    // One that is cut off would use up the deadline.
    servers: [greeting, ...address.servers.filter((server) => server !== greeting)],
    noRandomize: true,
    name,
    timeout: timeoutMs,
    noAsyncTraces: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
    reconnectJitter: 50,
    // A machine that is cut off closes no connection. Another broker of a cluster can take its place.
    ...(address.servers.length > 1 ? QUICK_PINGS : PINGS),
    // A password may come back with the next head. A host whose right was ended is done.
    ignoreAuthErrorAbort: options.nkey === undefined,
  }
  const late = deadline(timeoutMs)
  try {
    const attempt = connectNats(settings)
    const connection = await Promise.race([attempt, late.promise])
    if (connection === null) {
      attempt.then((tooLate) => tooLate.close()).catch(() => {})
      throw new NoAnswer(address.shown, timeoutMs)
    }
    return busOver(connection, address.shown, address.user, options.replicas ?? 1)
  } catch (error) {
    throw connectError(error, address.shown, timeoutMs, options.nkey !== undefined)
  } finally {
    late.cancel()
  }
}

/** Waits for the greeting of one server, and returns its address. Errors: that of the first one, if none greets. */
async function probeAny({ servers, shown }: Address, timeoutMs: number): Promise<string> {
  const [first, ...more] = servers.map(async (server) => {
    await probe({ server, shown: server }, timeoutMs)
    return server
  })
  if (first !== undefined && more.length === 0) return first
  return Promise.any([...(first ? [first] : []), ...more]).catch(() => {
    throw new RlError(`no server answers at ${shown}`, NO_ANSWER)
  })
}

/**
 * Waits for a server's greeting on a connection of its own. If nobody answers, the client would leave its socket open and keep a command
 * from ending.
 */
function probe({ server, shown }: { server: string; shown: string }, timeoutMs: number): Promise<void> {
  const { hostname, port } = new URL(server.replace(/^[a-z]+:/, 'http:'))
  return new Promise((resolve, reject) => {
    const socket = connectSocket({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) })
    const end = (error: RlError | null) => {
      socket.destroy()
      if (error) reject(error)
      else resolve()
    }
    const fail = (message: string, cause?: unknown) => end(new RlError(message, { ...NO_ANSWER, cause }))
    socket.setTimeout(timeoutMs, () => end(new NoAnswer(shown, timeoutMs)))
    socket.once('error', (cause: NodeJS.ErrnoException) =>
      fail(
        cause.code === 'ECONNREFUSED'
          ? `nobody listens at ${shown}`
          : `cannot connect to ${shown}: ${cause.message}`,
        cause,
      ),
    )
    socket.once('close', () => fail(`${shown} hung up`))
    socket.once('data', (greeting) =>
      greeting.toString('latin1').startsWith('INFO ') ? end(null) : fail(`${shown} is no NATS server`),
    )
  })
}

const NO_ANSWER = {
  code: 'bus.unreachable',
  hint: 'check the address and that a nats-server with JetStream listens there',
}

function connectError(error: unknown, shown: string, timeoutMs: number, byKey: boolean): unknown {
  if (error instanceof RlError) return error
  const { code, message } = causeOf(error) as NodeJS.ErrnoException
  // The server gave up waiting for this process' credentials.
  if (/authentication timeout/i.test(message)) return new NoAnswer(shown, timeoutMs)
  if (error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError)
    return byKey
      ? rightEnded(shown)
      : new RlError(`${shown} refused the token or password`, {
          code: 'bus.wrong-token',
          hint: 'set NATS_TOKEN, or NATS_USER and NATS_PASSWORD',
        })
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|^ERR_(TLS|SSL)/.test(code ?? ''))
    return new RlError(`${shown} could not prove its identity: ${message}`, {
      code: 'bus.tls-unverified',
      hint: 'name the certificate of its authority (a PEM file) in NATS_CA',
      cause: error,
    })
  if (/server does not support 'tls'/.test(message))
    return new RlError(`${shown} speaks no TLS: nothing was sent to it`, {
      code: 'bus.no-tls',
      hint: 'give the server a certificate, or write nats:// if the network between is safe',
    })
  if (error instanceof errors.TimeoutError) return new NoAnswer(shown, timeoutMs)
  return new RlError(`cannot connect to ${shown}: ${message}`, { ...NO_ANSWER, cause: error })
}

/** The client wraps the socket's error. */
function causeOf(error: unknown): unknown {
  return error instanceof errors.ConnectionError && error.cause instanceof Error ? error.cause : error
}

type Address = {
  readonly servers: readonly string[]
  /** All of them, as `url` lists them, without credentials. */
  readonly server: string
  readonly shown: string
  readonly login: { token?: string; user?: string; pass?: string }
  readonly user: User | null
  readonly tls: boolean
}

type Identity = {
  readonly host: string
  readonly checkServerIdentity: typeof checkServerIdentity
}

/**
 * Compares certificates with the hosts of the address. TLS cannot send a numeric address as a name, and the check would then use
 * `localhost`. A cluster has several servers, and each may prove that it is any of them.
 */
function tlsOptions({ servers }: Address, ca: string | undefined): TlsOptions & Identity {
  const hosts = servers.map((server) => new URL(server).hostname.replace(/^\[|\]$/g, ''))
  const identity: Identity = {
    host: hosts[0] ?? '',
    checkServerIdentity(_, certificate) {
      const failures = hosts.map((host) => checkServerIdentity(host, certificate))
      return failures.includes(undefined) ? undefined : failures[0]
    },
  }
  if (ca === undefined) return identity
  return { ...identity, ...(ca.startsWith('-----BEGIN') ? { ca } : { caFile: ca }) }
}

/** Removes the credentials from an address, so that messages and errors never hold them. */
export function parseAddress({ url, token, user, password, nkey }: BusAddress): Address {
  const all = url.split(',').map((one) => parseServer(one.trim()))
  const parsed = itemAt(all, 0)
  if (all.some(({ protocol }) => protocol !== parsed.protocol))
    throw new RlError('some NATS addresses have TLS, and others do not', BAD_URL)
  const servers = all.map(({ protocol, hostname, port }) => `${protocol}//${hostname}:${port || '4222'}`)
  const server = servers.join(',')
  const given = user || decodeURIComponent(parsed.username) || undefined
  // A key proves who asks: the server is told no name.
  const login =
    nkey === undefined
      ? loginOf({
          token: token || undefined,
          user: given,
          password: password || decodeURIComponent(parsed.password) || undefined,
        })
      : {}
  const named = nkey === undefined ? login.user : given
  return {
    servers,
    server,
    shown: server,
    login,
    user: named !== undefined && isUser(named) ? named : null,
    tls: parsed.protocol === 'tls:',
  }
}

function parseServer(text: string): URL {
  let parsed: URL
  try {
    parsed = new URL(text.includes('://') ? text : `nats://${text}`)
  } catch {
    throw new RlError('the NATS address is not a URL', BAD_URL)
  }
  if (!['nats:', 'tls:'].includes(parsed.protocol) || parsed.hostname === '')
    throw new RlError(`the NATS address has the scheme '${parsed.protocol}'`, BAD_URL)
  return parsed
}

const BAD_URL = {
  code: 'bus.bad-url',
  hint: 'expected nats://host:port, or a list of them with commas, with the token in NATS_TOKEN or user and password in NATS_USER and NATS_PASSWORD',
}

/** Returns the login. A name without a password is a token. */
function loginOf({ token, user, password }: { token?: string; user?: string; password?: string }) {
  if (token !== undefined) return { token }
  if (password !== undefined) return { user, pass: password }
  return user === undefined ? {} : { token: user }
}

/** Measures the time in which this process could have heard something. A turn of its event loop counts as a few ticks at most. */
function openListeningTime(): { readonly ms: () => number; readonly close: () => void } {
  const tickMs = 25
  let listened = 0
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    listened += Math.min(now - last, 4 * tickMs)
    last = now
  }, tickMs)
  return { ms: () => listened, close: () => clearInterval(timer) }
}

function deadline(ms: number): { promise: Promise<null>; cancel: () => void } {
  let timer: NodeJS.Timeout | undefined
  const promise = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms)
  })
  return { promise, cancel: () => clearTimeout(timer) }
}
