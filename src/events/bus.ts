/** The one file that speaks NATS. Everything else sees subjects, bytes and deadlines. */
import { connect as connectSocket } from 'node:net'
import {
  AckPolicy,
  type ConnectionOptions,
  connect as connectNats,
  DebugEvents,
  ErrorCode,
  Events,
  type JsMsg,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  NatsError,
  nanos,
  headers as newHeaders,
  RequestStrategy,
  RetentionPolicy,
  StorageType,
} from 'nats'
import { RlError } from '../errors.ts'
import { pack, unpackUntrusted } from './msgpack.ts'
import { inboxPrefixOf, isInbox, isUser, type User } from './users.ts'

export type BusAddress = {
  /** `nats://host:port`, also with `token@` or `user:password@`; `tls://` where the server must prove who it is. */
  readonly url: string
  readonly token?: string
  readonly user?: string
  readonly password?: string
  /** File with the certificate (PEM) that the server's is signed by; that of a public authority where absent. */
  readonly ca?: string
}

export type BusOptions = BusAddress & {
  /** Shown by the server's monitoring. */
  readonly name?: string
  /** How long the first connection may take. */
  readonly timeoutMs?: number
}

export type Headers = Readonly<Record<string, string>>

export type BusMessage = {
  readonly subject: string
  readonly body: Uint8Array
  readonly header: (name: string) => string | undefined
}

export type Serve = (body: Uint8Array, subject: string) => Promise<Uint8Array> | Uint8Array

/** One piece of work from a queue. */
export type Delivery = BusMessage & {
  /** 1 for the first time that this work was handed to anybody. */
  readonly attempt: number
}

/** What became of a delivery: it is done for good, or it comes again (to anybody) after a while. */
export type WorkResult = { readonly done: true } | { readonly done: false; readonly againMs: number }

export type WorkQueue = {
  /** Stream and consumer name: letters, digits and dashes. */
  readonly name: string
  readonly subject: string
}

export type WorkOptions = WorkQueue & {
  /** Deliveries in the hands of this process at a time. */
  readonly concurrency: number
  /** After so much silence of a worker its delivery goes to another; a live worker renews it three times as often. */
  readonly ackWaitMs: number
}

export type Bus = {
  readonly url: string
  /** Which of a run's users this connection is; null where the broker knows no users of ours. */
  readonly user: User | null
  /** Most bytes of one message. */
  readonly maxPayload: () => number
  readonly connected: () => boolean
  readonly publish: (subject: string, body: Uint8Array, headers?: Headers) => void
  /** Resolves when the server has everything that was published before. Errors: `bus.disconnected`. */
  readonly flush: () => Promise<void>
  /** Asks and waits. Errors: `bus.timeout`, `bus.no-responder`, `bus.disconnected`, or what the other side answered. */
  readonly request: (subject: string, body: Uint8Array, options: { timeoutMs: number }) => Promise<Uint8Array>
  /** Asks everybody and returns the answers that came in time. */
  readonly gather: (subject: string, body: Uint8Array, options: { waitMs: number }) => Promise<Uint8Array[]>
  /** Calls back for each message, in order. Returns the end of it. */
  readonly subscribe: (subject: string, handler: (message: BusMessage) => void) => () => void
  /** Answers requests; with a queue name each request goes to one of its members. An error becomes the answer. */
  readonly serve: (subject: string, queue: string | null, handler: Serve) => () => void
  /** Makes the stream of a work queue where there is none, and checks that the server understood all of it. */
  readonly ensureWorkQueue: (queue: WorkQueue) => Promise<void>
  /** Publishes and waits until the work queue on this subject has it; the same id within an hour counts once. */
  readonly publishWork: (subject: string, body: Uint8Array, id: string, headers?: Headers) => Promise<void>
  /** Takes work until it is ended; ending waits for what is in hand. */
  readonly work: (
    options: WorkOptions,
    handler: (delivery: Delivery) => Promise<WorkResult>,
  ) => () => Promise<void>
  /** Calls back after each lost and regained connection. */
  readonly onReconnect: (callback: () => void) => () => void
  /** Resolves when the connection is over for good, with the reason or null. */
  readonly closed: Promise<Error | null>
  readonly close: () => Promise<void>
}

const ERROR_HEADER = 'Rl-Error'
const DEDUPLICATION_MS = 3_600_000
const PULL_MS = 1_000

/** Connects, or fails within the deadline with an error that says whether nobody answered or the token was wrong. */
export async function connectBus(options: BusOptions): Promise<Bus> {
  const { name = 'rlanything', timeoutMs = 5_000 } = options
  const address = parseAddress(options)
  const settings: ConnectionOptions = {
    ...address.login,
    ...(address.tls ? { tls: options.ca === undefined ? {} : { caFile: options.ca } } : {}),
    inboxPrefix: inboxPrefixOf(address.user),
    servers: address.server,
    name,
    timeout: timeoutMs,
    noAsyncTraces: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
    reconnectJitter: 50,
    pingInterval: 5_000,
    maxPingOut: 3,
    ignoreAuthErrorAbort: true,
  }
  await probe(address, timeoutMs)
  const late = deadline(timeoutMs)
  try {
    const attempt = connectNats(settings)
    const connection = await Promise.race([attempt, late.promise])
    if (connection === null) {
      attempt.then((tooLate) => tooLate.close()).catch(() => {})
      throw new RlError(`${address.shown} did not answer within ${timeoutMs} ms`, NO_ANSWER)
    }
    return busOver(connection, address.shown, address.user)
  } catch (error) {
    throw connectError(error, address.shown, timeoutMs)
  } finally {
    late.cancel()
  }
}

/**
 * Waits for a server's greeting on a connection of its own: the client leaves its socket open when nobody speaks, and
 * that would keep a command from ending.
 */
function probe({ server, shown }: Address, timeoutMs: number): Promise<void> {
  const { hostname, port } = new URL(server.replace(/^[a-z]+:/, 'http:'))
  return new Promise((resolve, reject) => {
    const socket = connectSocket({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) })
    const end = (error: RlError | null) => {
      socket.destroy()
      if (error) reject(error)
      else resolve()
    }
    const fail = (message: string, cause?: unknown) => end(new RlError(message, { ...NO_ANSWER, cause }))
    socket.setTimeout(timeoutMs, () => fail(`${shown} did not answer within ${timeoutMs} ms`))
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

function connectError(error: unknown, shown: string, timeoutMs: number): unknown {
  if (!(error instanceof NatsError)) {
    if (error instanceof RlError) return error
    const { code, message } = error as NodeJS.ErrnoException
    if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|^ERR_(TLS|SSL)/.test(code ?? ''))
      return new RlError(`${shown} could not prove who it is: ${message}`, {
        code: 'bus.tls-unverified',
        hint: 'name the certificate of its authority (a PEM file) in NATS_CA',
        cause: error,
      })
    return new RlError(`cannot connect to ${shown}: ${message}`, {
      ...NO_ANSWER,
      cause: error,
    })
  }
  if (error.code === ErrorCode.AuthorizationViolation || error.code === ErrorCode.BadAuthentication)
    return new RlError(`${shown} refused the token or password`, {
      code: 'bus.wrong-token',
      hint: 'set NATS_TOKEN, or NATS_USER and NATS_PASSWORD',
    })
  if (error.code === ErrorCode.ServerOptionNotAvailable)
    return new RlError(`${shown} speaks no TLS: nothing was sent to it`, {
      code: 'bus.no-tls',
      hint: 'give the server a certificate, or write nats:// where the way to it is safe',
    })
  if (error.code === ErrorCode.ConnectionRefused) return new RlError(`nobody listens at ${shown}`, NO_ANSWER)
  if (error.code === ErrorCode.Timeout || error.code === ErrorCode.ConnectionTimeout)
    return new RlError(`${shown} did not answer within ${timeoutMs} ms`, NO_ANSWER)
  return new RlError(`cannot connect to ${shown}: ${error.message}`, NO_ANSWER)
}

type Address = {
  readonly server: string
  readonly shown: string
  readonly login: { token?: string; user?: string; pass?: string }
  readonly user: User | null
  readonly tls: boolean
}

/** Takes the credentials out of an address, so that what is shown or thrown never holds them. */
export function parseAddress({ url, token, user, password }: BusAddress): Address {
  const withScheme = url.includes('://') ? url : `nats://${url}`
  let parsed: URL
  try {
    parsed = new URL(withScheme)
  } catch {
    throw new RlError('the NATS address is not a URL', BAD_URL)
  }
  if (!['nats:', 'tls:'].includes(parsed.protocol) || parsed.hostname === '')
    throw new RlError(`the NATS address has the scheme '${parsed.protocol}'`, BAD_URL)
  const server = `${parsed.protocol}//${parsed.hostname}:${parsed.port || '4222'}`
  const login = loginOf({
    token: token || undefined,
    user: user || decodeURIComponent(parsed.username) || undefined,
    password: password || decodeURIComponent(parsed.password) || undefined,
  })
  return {
    server,
    shown: server,
    login,
    user: login.user !== undefined && isUser(login.user) ? login.user : null,
    tls: parsed.protocol === 'tls:',
  }
}

const BAD_URL = {
  code: 'bus.bad-url',
  hint: 'expected nats://host:port, with the token in NATS_TOKEN or user and password in NATS_USER and NATS_PASSWORD',
}

/** A name in an address without a password is a token. */
function loginOf({ token, user, password }: { token?: string; user?: string; password?: string }) {
  if (token !== undefined) return { token }
  if (password !== undefined) return { user, pass: password }
  return user === undefined ? {} : { token: user }
}

function busOver(connection: NatsConnection, url: string, user: User | null): Bus {
  const reconnected = new Set<() => void>()
  let connected = true
  let failInFlight: (error: RlError) => void = () => {}
  let lost = nextLoss()

  /** A promise that fails when the connection is lost; requests race it, because their answers died with it. */
  function nextLoss(): Promise<never> {
    const loss = new Promise<never>((_, reject) => {
      failInFlight = reject
    })
    loss.catch(() => {})
    return loss
  }

  function onLost(): void {
    if (!connected) return
    connected = false
    failInFlight(disconnected(url))
    lost = nextLoss()
  }

  async function watch(): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === Events.Disconnect || status.type === DebugEvents.Reconnecting) onLost()
      if (status.type === Events.Reconnect) {
        connected = true
        for (const callback of reconnected) callback()
      }
    }
  }
  void watch()
  const closed = connection.closed().then((reason) => {
    onLost()
    return reason ?? null
  })

  function withHeaders(fields: Headers | undefined): MsgHdrs | undefined {
    if (!fields) return undefined
    const made = newHeaders()
    for (const [name, value] of Object.entries(fields)) made.set(name, value)
    return made
  }

  function checkSize(subject: string, body: Uint8Array): void {
    const most = connection.info?.max_payload ?? 1_048_576
    if (body.byteLength > most)
      throw new RlError(
        `a message of ${body.byteLength} bytes to ${subject} is over the server's limit of ${most}`,
        {
          code: 'bus.oversized',
          hint: 'put large data into a blob, or raise max_payload of the server',
        },
      )
  }

  const bus: Bus = {
    url,
    user,
    maxPayload: () => connection.info?.max_payload ?? 1_048_576,
    connected: () => connected,
    publish(subject, body, fields) {
      checkSize(subject, body)
      connection.publish(subject, body, { headers: withHeaders(fields) })
    },
    async flush() {
      if (!connected) throw disconnected(url)
      try {
        await Promise.race([connection.flush(), lost])
      } catch (error) {
        throw toRlError(error, 'a flush', url)
      }
    },
    async request(subject, body, { timeoutMs }) {
      checkSize(subject, body)
      // The client would keep the message and lose it when it connects again.
      if (!connected) throw disconnected(url)
      try {
        return readReply(
          await Promise.race([connection.request(subject, body, { timeout: timeoutMs }), lost]),
        )
      } catch (error) {
        throw toRlError(error, subject, url, timeoutMs)
      }
    },
    async gather(subject, body, { waitMs }) {
      const answers = await connection.requestMany(subject, body, {
        strategy: RequestStrategy.Timer,
        maxWait: waitMs,
      })
      const bodies: Uint8Array[] = []
      try {
        for await (const answer of answers) bodies.push(readReply(answer))
      } catch (error) {
        if (!(error instanceof NatsError && error.code === ErrorCode.NoResponders))
          throw toRlError(error, subject, url)
      }
      return bodies
    },
    subscribe(subject, handler) {
      const subscription = connection.subscribe(subject, {
        callback(error, message) {
          if (error === null) handler(toMessage(message))
        },
      })
      return () => subscription.unsubscribe()
    },
    serve(subject, queue, handler) {
      const answer = async (message: Msg) => {
        try {
          message.respond(await handler(message.data, message.subject))
        } catch (error) {
          if (!connection.isClosed())
            message.respond(errorBody(error), { headers: withHeaders({ [ERROR_HEADER]: '1' }) })
        }
      }
      const subscription = connection.subscribe(subject, {
        queue: queue ?? undefined,
        callback(error, message) {
          if (error === null && message.reply !== undefined && isInbox(message.reply)) void answer(message)
        },
      })
      return () => subscription.unsubscribe()
    },
    async ensureWorkQueue({ name, subject }) {
      try {
        await makeStream(connection, name, subject)
      } catch (error) {
        throw error instanceof RlError ? error : queueError(error, name, url)
      }
    },
    async publishWork(subject, body, id, fields) {
      checkSize(subject, body)
      if (!connected) throw disconnected(url)
      try {
        const jetstream = connection.jetstream({ timeout: 2_000 })
        await Promise.race([
          jetstream.publish(subject, body, { msgID: id, headers: withHeaders(fields) }),
          lost,
        ])
      } catch (error) {
        throw toRlError(error, subject, url)
      }
    },
    work: (options, handler) => takeWork(connection, options, handler, () => connected),
    onReconnect(callback) {
      reconnected.add(callback)
      return () => reconnected.delete(callback)
    },
    closed,
    async close() {
      if (connection.isClosed()) return
      if (connected) await Promise.race([connection.drain(), closed, lost.catch(() => {})]).catch(() => {})
      await connection.close()
    },
  }
  return bus
}

function toMessage(message: Msg | JsMsg): BusMessage {
  return {
    subject: message.subject,
    body: message.data,
    header: (name) => message.headers?.get(name) || undefined,
  }
}

/** Makes a work-queue stream. Servers ignore options that they do not know, so the answer is compared with the question. */
async function makeStream(connection: NatsConnection, name: string, subject: string): Promise<void> {
  const manager = await connection.jetstreamManager()
  const wanted = {
    name,
    subjects: [subject],
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
    duplicate_window: nanos(DEDUPLICATION_MS),
    max_msgs: -1,
    max_bytes: -1,
    max_age: 0,
  }
  const { config } = await manager.streams.add(wanted)
  for (const [field, value] of Object.entries(wanted)) {
    const got = config[field as keyof typeof wanted]
    if (JSON.stringify(got) !== JSON.stringify(value))
      throw new RlError(
        `work queue ${name}: the server made ${field} ${JSON.stringify(got)}, not ${JSON.stringify(value)}`,
        {
          code: 'bus.bad-queue',
          hint: 'use a nats-server of 2.9 or newer whose limits allow it',
        },
      )
  }
}

function takeWork(
  connection: NatsConnection,
  { name, subject, concurrency, ackWaitMs }: WorkOptions,
  handler: (delivery: Delivery) => Promise<WorkResult>,
  connected: () => boolean,
): () => Promise<void> {
  let ended = false
  let wake: () => void = () => {}
  const end = new Promise<void>((resolve) => {
    wake = resolve
  })

  async function openConsumer() {
    const manager = await connection.jetstreamManager()
    const durable_name = 'workers'
    // Deliveries are counted by the handler, which ends hopeless work with an event; the server must not drop it in silence.
    const wanted = {
      durable_name,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ackWaitMs),
      max_deliver: -1,
      max_ack_pending: 10_000,
      filter_subject: subject,
    }
    await manager.consumers.add(name, wanted)
    return connection.jetstream().consumers.get(name, durable_name)
  }

  async function handle(message: JsMsg): Promise<void> {
    const renewal = setInterval(() => message.working(), ackWaitMs / 3)
    try {
      const verdict = await handler({ ...toMessage(message), attempt: message.info.deliveryCount })
      if (verdict.done) message.ack()
      else message.nak(verdict.againMs)
    } catch {
      message.nak(1_000)
    } finally {
      clearInterval(renewal)
    }
  }

  async function slot(): Promise<void> {
    let consumer: Awaited<ReturnType<typeof openConsumer>> | null = null
    while (!ended && !connection.isClosed()) {
      try {
        consumer ??= await openConsumer()
        const message = await consumer.next({ expires: PULL_MS, bind: true })
        if (message) await handle(message)
      } catch {
        consumer = null
        await Promise.race([end, pause(connected() ? 250 : 100)])
      }
    }
  }

  const slots = Array.from({ length: concurrency }, slot)
  return async function endWork() {
    ended = true
    wake()
    await Promise.all(slots)
  }
}

function queueError(error: unknown, name: string, url: string): RlError {
  const message = error instanceof Error ? error.message : String(error)
  const off = error instanceof NatsError && error.code === ErrorCode.JetStreamNotEnabled
  return new RlError(
    off ? `${url} runs without JetStream` : `work queue ${name} cannot be made: ${message}`,
    {
      code: 'bus.no-jetstream',
      hint: 'start nats-server with -js, or leave out --nats so that the head starts its own',
      cause: error,
    },
  )
}

/** An error as a reply: what `request` throws at the other side. */
function errorBody(error: unknown): Uint8Array {
  const { code, message, hint } =
    error instanceof RlError ? error : { code: 'bus.service-failed', message: String(error), hint: undefined }
  return pack({ code, message, hint })
}

function readReply(message: Msg): Uint8Array {
  if (!message.headers?.has(ERROR_HEADER)) return message.data
  const {
    code,
    message: text,
    hint,
  } = unpackUntrusted(message.data) as { code: string; message: string; hint?: string }
  throw new RlError(String(text), { code: String(code), hint })
}

function toRlError(error: unknown, subject: string, url: string, timeoutMs?: number): RlError {
  if (error instanceof RlError) return error
  const code = error instanceof NatsError ? error.code : ''
  if (code === ErrorCode.Timeout)
    return new RlError(`${subject} did not answer${timeoutMs ? ` within ${timeoutMs} ms` : ''}`, {
      code: 'bus.timeout',
      hint: 'rl status <run> shows which actors live',
    })
  if (code === ErrorCode.NoResponders)
    return new RlError(`nobody answers on ${subject}`, {
      code: 'bus.no-responder',
      hint: 'rl status <run> shows which actors live',
    })
  if (
    code === ErrorCode.ConnectionClosed ||
    code === ErrorCode.Disconnect ||
    code === ErrorCode.ConnectionDraining
  )
    return disconnected(url)
  return new RlError(`${subject}: ${error instanceof Error ? error.message : String(error)}`, {
    code: 'bus.failed',
    cause: error,
  })
}

function disconnected(url: string): RlError {
  return new RlError(`the connection to ${url} was lost`, {
    code: 'bus.disconnected',
    hint: 'it is made again by itself as soon as the server is back',
  })
}

function deadline(ms: number): { promise: Promise<null>; cancel: () => void } {
  let timer: NodeJS.Timeout | undefined
  const promise = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms)
  })
  return { promise, cancel: () => clearTimeout(timer) }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
