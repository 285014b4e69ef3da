/** Whether a connection of the NATS client is there, and what is told when it is lost or comes back. */
import type { NatsConnection } from '@nats-io/transport-node'
import { disconnected } from './errors.ts'

export type Link = {
  readonly connected: () => boolean
  /**
   * Settles as the promise does. Rejects with `bus.disconnected` as soon as the connection is lost. Nothing is kept
   * after it has settled.
   */
  readonly unlessLost: <T>(promise: Promise<T>) => Promise<T>
  /** Called each time the connection comes back. */
  readonly reconnected: Set<() => void>
  /** Resolves when the connection is closed for good. The reason is null if it was closed on purpose. */
  readonly closed: Promise<Error | null>
}

export function watchLink(connection: NatsConnection, url: string): Link {
  const reconnected = new Set<() => void>()
  /** Requests that fail when the connection is lost, because their answers are lost with it. */
  const inFlight = new Set<() => void>()
  let connected = true

  function onLost(): void {
    connected = false
    for (const lose of [...inFlight]) lose()
  }

  async function watch(): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect' || type === 'reconnecting' || type === 'staleConnection') onLost()
      if (type === 'reconnect') {
        connected = true
        for (const callback of [...reconnected]) callback()
      }
    }
  }
  void watch()
  const closed = connection.closed().then((reason) => {
    onLost()
    return reason ?? null
  })

  return {
    connected: () => connected,
    unlessLost(promise) {
      return new Promise((resolve, reject) => {
        const lose = () => reject(disconnected(url))
        inFlight.add(lose)
        promise.then(resolve, reject).finally(() => inFlight.delete(lose))
      })
    },
    reconnected,
    closed,
  }
}
