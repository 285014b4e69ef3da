import type { Msg } from '@nats-io/transport-node'
import type { BusMessage } from '../bus.ts'

/** Turns a message of the client into a message of the bus. */
export function toMessage(message: Pick<Msg, 'subject' | 'data' | 'headers'>): BusMessage {
  return {
    subject: message.subject,
    body: message.data,
    header: (name) => message.headers?.get(name) || undefined,
  }
}
