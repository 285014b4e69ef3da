import type { Msg } from '@nats-io/transport-node'
import type { BusMessage } from '../bus.ts'

/** A message of the client as the bus hands it on. */
export function toMessage(message: Pick<Msg, 'subject' | 'data' | 'headers'>): BusMessage {
  return {
    subject: message.subject,
    body: message.data,
    header: (name) => message.headers?.get(name) || undefined,
  }
}
