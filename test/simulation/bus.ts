/** A connection of a process to the broker: the `Bus` that the real code gets, over a link on which faults strike. */
import { RlError } from '../../src/errors.ts'
import type { Bus, BusMessage, Fault, Headers } from '../../src/events/bus.ts'
import { toWireError } from '../../src/events/log-client.ts'
import type { User } from '../../src/events/users.ts'
import type { Answer, Broker, Handed, Sent } from './broker.ts'
import type { Faults } from './faults.ts'
import { never, type Process } from './process.ts'
import type { Scheduler } from './scheduler.ts'

export type SimulatedBus = Bus & {
  readonly process: Process
  /** Loses the connection; it comes back after so long. */
  readonly cut: (ms: number) => void
  /** Swallows all that crosses the link for so long; nobody is told. */
  readonly hole: (ms: number) => void
}

export type BusOptions = {
  readonly process: Process
  readonly user: User
  /** Names the link, the same in each life of the process. */
  readonly link: string
  readonly broker: Broker
  readonly scheduler: Scheduler
  readonly faults: Faults
  /** Whether the broker runs. */
  readonly isUp: () => boolean
  /** Hears of each answer to a request, as the requester gets it. */
  readonly onAnswer: (subject: string, request: Uint8Array, answer: Uint8Array) => void
}

const URL = 'simulated'
const MAX_PAYLOAD = 1_048_576
const REFUSED_MS = 5_000
const STORE_MS = 2_000

export function connectSimulated(options: BusOptions): SimulatedBus {
  const { process, user, link, broker, scheduler, faults, isUp, onAnswer } = options
  const { clock } = process.platform
  const identity = {}
  const reconnected = new Set<() => void>()
  const faultListeners = new Set<(fault: Fault) => void>()
  const inFlight = new Set<() => void>()
  /** What to tell the broker again when the connection is back. */
  const standing = new Set<{ begin: () => () => void; end: () => void }>()
  let connected = true
  let closed = false
  /** Counts connections: what was sent on one arrives on no other. */
  let era = 0
  let holeUntil = 0
  const lastArrival = { up: 0, down: 0 }
  let tellClosed: (reason: Error | null) => void = () => {}
  const whenClosed = new Promise<Error | null>((resolve) => {
    tellClosed = resolve
  })

  /** Crosses the link: in order, within a millisecond or so, unless a fault strikes. Returns whether it will arrive. */
  function cross(way: 'up' | 'down', arrive: () => void): boolean {
    if (!connected || scheduler.now() < holeUntil) return false
    const place = `${link} ${way}`
    const sentIn = era
    const landed = () => {
      if (connected && era === sentIn && scheduler.now() >= holeUntil) arrive()
    }
    if (faults.strike('drop', place) !== null) return false
    const time = scheduler.now() + 0.2 + faults.draw('latency', place)
    const late = faults.strike('delay', place)
    const overtaken = late === null ? faults.strike('reorder', place) : null
    if (late !== null) scheduler.at(time + late * 8_000, landed)
    else if (overtaken !== null) scheduler.at(time + overtaken * 20, landed)
    else {
      lastArrival[way] = Math.max(lastArrival[way], time)
      scheduler.at(lastArrival[way], landed)
    }
    const twice = faults.strike('double', place)
    if (twice !== null) scheduler.at(time + twice * 50, landed)
    return true
  }

  /** Into this process, over its link. */
  function arriving<Values extends readonly unknown[]>(callback: (...values: Values) => void) {
    const entered = process.enter(callback)
    return (...values: Values): boolean => cross('down', () => entered(...values))
  }

  function lost(): RlError {
    return new RlError(`the connection to ${URL} was lost`, { code: 'bus.disconnected' })
  }

  /** Asks the broker, or somebody by way of it; settles once, by the answer, the loss of the connection or the time. */
  function ask<T>(
    timeoutMs: number,
    what: string,
    begin: (settle: (value: T | RlError) => void) => void,
  ): Promise<T> {
    if (!process.point()) return never()
    if (!connected || closed) return Promise.reject(lost())
    return new Promise<T>((resolve, reject) => {
      const settle = (value: T | RlError) => {
        if (!inFlight.delete(lose)) return
        endTimer()
        if (value instanceof RlError) reject(value)
        else resolve(value)
      }
      const lose = () => settle(lost())
      inFlight.add(lose)
      const endTimer = clock.after(timeoutMs, () =>
        settle(new RlError(`${what} did not answer within ${timeoutMs} ms`, { code: 'bus.timeout' })),
      )
      begin(settle)
    })
  }

  /** A call of the broker itself. */
  function call<T>(what: string, answer: () => T, timeoutMs = REFUSED_MS): Promise<T> {
    return ask<T>(timeoutMs, what, (settle) => {
      const answered = arriving(settle)
      cross('up', () => {
        try {
          answered(answer())
        } catch (error) {
          answered(error as RlError)
        }
      })
    })
  }

  function stand(begin: () => () => void): () => void {
    const one = { begin, end: connected ? begin() : () => {} }
    standing.add(one)
    return () => {
      standing.delete(one)
      one.end()
    }
  }

  /** What was asked fails as soon as the process can hear of it. */
  function lose(): void {
    connected = false
    era++
    broker.drop(identity)
    process.enter(() => {
      for (const one of [...inFlight]) one()
    })()
  }

  function comeBack(): void {
    if (closed || connected || !process.isAlive()) return
    if (!isUp()) return void scheduler.at(scheduler.now() + 150, comeBack)
    connected = true
    for (const one of standing) one.end = one.begin()
    for (const callback of [...reconnected]) callback()
  }

  function fault(what: Fault): void {
    for (const callback of faultListeners) callback(what)
  }

  process.onEnd(() => {
    broker.drop(identity)
    closed = true
  })

  function answerTo(
    message: Sent,
    headers: Headers,
    handler: (body: Uint8Array, subject: string) => Promise<Uint8Array> | Uint8Array,
  ): void {
    const { reply } = message
    const answer = (value: Answer) => {
      if (process.point() && reply !== null) cross('up', () => reply(value))
    }
    void (async () => handler(message.body, message.subject))().then(
      (body) => answer({ body, headers }),
      (error) => {
        const { message, code, hint } = toWireError(error)
        answer({ error: new RlError(message, { code, hint }), headers })
      },
    )
  }

  const bus: SimulatedBus = {
    process,
    url: URL,
    user,
    maxPayload: () => MAX_PAYLOAD,
    connected: () => connected,
    publish(subject, body, headers) {
      if (!process.point() || closed) return
      const message = messageOf(subject, body, headers)
      cross('up', () => {
        broker.send({ ...message, reply: null })
        try {
          broker.enqueue(message, null)
        } catch {
          // No queue has this subject.
        }
      })
    },
    flush: () => call('a flush', () => undefined),
    request(subject, body, { timeoutMs, hear }) {
      return ask<Uint8Array>(timeoutMs, subject, (settle) => {
        const answered = arriving((answer: Answer) => {
          try {
            hear?.((name) => answer.headers[name])
          } catch (error) {
            return settle(error as RlError)
          }
          if ('body' in answer) onAnswer(subject, body, answer.body)
          settle('error' in answer ? answer.error : answer.body)
        })
        cross('up', () => {
          const heard = broker.send({ ...messageOf(subject, body), reply: answered })
          if (heard === 0)
            answered({
              error: new RlError(`nobody answers on ${subject}`, { code: 'bus.no-responder' }),
              headers: {},
            })
        })
      })
    },
    subscribe(subject, handler) {
      const deliver = arriving((message: Sent) => {
        try {
          handler(message)
        } catch (error) {
          fault({ subject: message.subject, body: message.body, error })
        }
      })
      return stand(() => broker.listen({ pattern: subject, group: null, connection: identity, deliver }))
    },
    serve(subject, group, handler, headers = {}) {
      const deliver = arriving((message: Sent) => {
        if (message.reply !== null) answerTo(message, headers, handler)
      })
      return stand(() => broker.listen({ pattern: subject, group, connection: identity, deliver }))
    },
    fault,
    onFault(callback) {
      faultListeners.add(callback)
      return () => faultListeners.delete(callback)
    },
    ensureWorkQueue: (queue) => call(`queue ${queue.name}`, () => broker.ensureQueue(queue)),
    publishWork: (subject, body, id, headers) =>
      call(subject, () => {
        const message = messageOf(subject, body, headers)
        broker.send({ ...message, reply: null })
        return broker.enqueue(message, id)
      }),
    queued: (queue, sequence) => call(queue.name, () => broker.look(queue, sequence)),
    queueDepth({ name }) {
      throw new Error(`no simulated process asks how full ${name} is`)
    },
    store: ({ name }) => ({
      ensure: () => call(`store ${name}`, () => broker.ensureStore(name), STORE_MS),
      get: (key) => call(`${name} ${key}`, () => broker.valueOf(name, key), STORE_MS),
      update(key, value, revision) {
        // As with NATS, each write has an id.
        process.platform.newId()
        return call(`${name} ${key}`, () => broker.update(name, key, value, revision))
      },
      put(key, value) {
        if (!process.point()) return
        cross('up', () => {
          try {
            broker.update(name, key, value, broker.valueOf(name, key)?.revision ?? 0)
          } catch {
            // Nobody hears of a write that failed.
          }
        })
      },
    }),
    records: ({ name, subject }) => ({
      ensure: () => call(`records ${name}`, () => broker.ensureRecords(name), STORE_MS),
      last: () => call(`records ${name}`, () => broker.lastRecord(name), STORE_MS),
      append: (body, after) =>
        call(subject, () => {
          broker.send({ ...messageOf(subject, body), reply: null })
          broker.appendRecord(name, body, after)
        }),
      read: (number) => call(`record ${number}`, () => broker.recordOf(name, number), STORE_MS),
      onAppended: (callback) => bus.subscribe(subject, callback),
    }),
    work({ name, concurrency, ackWaitMs }, handler) {
      const inHand = new Set<Promise<void>>()
      /** What was sent and has not arrived. */
      const onTheWay = new Set<object>()
      let ended = false
      const handle = async ({ message, attempt, renew, done, again }: Handed) => {
        const say = (word: () => void) => {
          if (process.point()) cross('up', word)
        }
        const endRenewals = clock.every(ackWaitMs / 3, () => say(renew))
        const result = await handler({ ...message, attempt }).catch(
          () => ({ done: false, againMs: 1_000 }) as const,
        )
        endRenewals()
        if (result.done) return say(done)
        say(() => again(result.againMs))
        if ('busy' in result) await result.busy?.catch(() => {})
      }
      const begin = process.enter((handed: Handed) => {
        if (ended) return
        const work = handle(handed).finally(() => {
          inHand.delete(work)
          if (connected) broker.nudge()
        })
        inHand.add(work)
      })
      const taker = {
        queue: name,
        connection: identity,
        free: () => concurrency - inHand.size - onTheWay.size,
        deliver(handed: Handed) {
          onTheWay.add(handed)
          const arrives = cross('down', () => {
            onTheWay.delete(handed)
            begin(handed)
          })
          // A pull that nothing came for ends by itself.
          if (!arrives) scheduler.at(scheduler.now() + REFUSED_MS, () => onTheWay.delete(handed))
        },
      }
      const endStanding = stand(() => {
        onTheWay.clear()
        return broker.take(taker)
      })
      return async function endWork() {
        ended = true
        endStanding()
        await Promise.all(inHand)
      }
    },
    onReconnect(callback) {
      const entered = process.enter(callback)
      reconnected.add(entered)
      return () => reconnected.delete(entered)
    },
    closed: whenClosed,
    async close() {
      if (closed || !process.point()) return
      closed = true
      lose()
      tellClosed(null)
    },
    cut(ms) {
      if (closed || !connected) return
      lose()
      scheduler.at(scheduler.now() + ms, comeBack)
    },
    hole(ms) {
      holeUntil = Math.max(holeUntil, scheduler.now() + ms)
    },
  }
  return bus
}

function messageOf(subject: string, body: Uint8Array, headers: Headers = {}): BusMessage {
  return { subject, body, header: (name) => headers[name] }
}
