/**
 * Takes work from a queue. One pull asks for all free slots and waits long, so an idle worker asks every few seconds. A pull without an
 * answer (no consumer, a wiped broker) is repeated. The head makes the queue again.
 */
import { createInbox, type Msg, type NatsConnection, nanos } from '@nats-io/transport-node'
import type { Delivery, WorkOptions, WorkResult } from '../bus.ts'
import { nextSubject } from './api.ts'
import { openAsks } from './asks.ts'
import { toMessage } from './message.ts'
import { CONSUMER } from './queues.ts'

const MOST_PULL_MS = 4_000
/** Pulls in progress at a time. The server keeps 512 pulls of all workers. */
const PULLS = 2
const AGAIN_MS = 250
/** Longest wait for what the server sent before the taking ended. */
const DRAIN_MS = 1_000

export function takeWork(
  connection: NatsConnection,
  { name, concurrency, ackWaitMs, inboxPrefix }: WorkOptions & { readonly inboxPrefix: string },
  handler: (delivery: Delivery) => Promise<WorkResult>,
  reconnected: Set<() => void>,
): () => Promise<void> {
  const encoder = new TextEncoder()
  const inbox = createInbox(inboxPrefix)
  // A process that hangs gets work as long as its pulls last, and each delivery counts as an attempt.
  const pullMs = Math.min(MOST_PULL_MS, ackWaitMs)
  const next = nextSubject(name, CONSUMER)
  const asks = openAsks()
  const timers = new Map<string, NodeJS.Timeout>()
  const inHand = new Set<Promise<void>>()
  let pullNumber = 0
  let ended = false
  let again: NodeJS.Timeout | undefined

  function pull(): void {
    const batch = concurrency - inHand.size - asks.open()
    if (ended || again !== undefined || batch <= 0 || asks.pulls() >= PULLS || connection.isClosed()) return
    const reply = `${inbox}.${pullNumber++}`
    // The server ends a pull itself. This timer ends it if the server's word is lost.
    const timer = setTimeout(() => endPull(reply, null), pullMs + 1_000)
    timers.set(reply, timer)
    asks.ask(reply, batch)
    connection.publish(next, encoder.encode(JSON.stringify({ batch, expires: nanos(pullMs) })), { reply })
  }

  /** @param owed what of it will not come, or null if nobody said */
  function endPull(reply: string, owed: number | null): void {
    clearTimeout(timers.get(reply))
    timers.delete(reply)
    asks.ended(reply, owed)
    pull()
  }

  function pullLater(): void {
    again ??= setTimeout(() => {
      again = undefined
      pull()
    }, AGAIN_MS)
  }

  function forgetPulls(): void {
    for (const timer of timers.values()) clearTimeout(timer)
    timers.clear()
    asks.forget()
  }

  function pullAnew(): void {
    forgetPulls()
    pull()
  }

  function take(message: Msg): void {
    const status = message.headers?.code ?? 0
    if (status !== 0 && message.data.byteLength === 0 && !message.reply) {
      // 404 and 408 end a pull normally. Any other status means that the queue is not in order.
      if (status !== 404 && status !== 408) pullLater()
      const owed = message.headers?.get('Nats-Pending-Messages')
      endPull(message.subject, owed ? Number(owed) : null)
      return
    }
    // It was on its way when the taking ended: another worker has it at once.
    if (ended) return void message.respond(encoder.encode('-NAK'))
    const work = handle(message).finally(() => {
      inHand.delete(work)
      pull()
    })
    inHand.add(work)
    asks.delivered()
    pull()
  }

  async function handle(message: Msg): Promise<void> {
    const say = (word: string) => {
      if (!connection.isClosed()) message.respond(encoder.encode(word))
    }
    const renewal = setInterval(() => say('+WPI'), ackWaitMs / 3)
    let result: WorkResult
    try {
      result = await handler({ ...toMessage(message), attempt: attemptOf(message.reply ?? '') })
    } catch {
      result = { done: false, againMs: 1_000 }
    } finally {
      clearInterval(renewal)
    }
    say(result.done ? '+ACK' : `-NAK ${JSON.stringify({ delay: nanos(result.againMs) })}`)
    await result.busy?.catch(() => {})
  }

  const subscription = connection.subscribe(`${inbox}.*`, {
    callback(failure, message) {
      if (failure === null) take(message)
    },
  })
  reconnected.add(pullAnew)
  pull()

  /** Hears what the server has sent by now. Without a connection there is nothing to hear. */
  async function hearTheRest(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, DRAIN_MS)
    })
    await Promise.race([subscription.drain().catch(() => {}), late])
    clearTimeout(timer)
    subscription.unsubscribe()
  }

  return async function endWork() {
    ended = true
    clearTimeout(again)
    reconnected.delete(pullAnew)
    forgetPulls()
    await Promise.all([hearTheRest(), ...inHand])
  }
}

/** Reads the attempt from `$JS.ACK.<stream>.<consumer>.<attempt>...`. Servers with domains have two words before the stream. */
function attemptOf(reply: string): number {
  const words = reply.split('.')
  return Number(words[words.length > 9 ? 6 : 4]) || 1
}
