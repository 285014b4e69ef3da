import type { Msg } from '@nats-io/transport-node'
import type { BusMessage } from '../bus.ts'

/** Returns a message of the client as the bus passes it on. */
export function toMessage(message: Pick<Msg, 'subject' | 'data' | 'headers'>): BusMessage {
  return {
    subject: message.subject,
    body: message.data,
    header: (name) => message.headers?.get(name) || undefined,
  }
}
