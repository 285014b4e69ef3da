/**
 * `import { subscribe } from 'rlanything/events'`: follow a run, or take part in it, from any program. No native module is
 * loaded, only NATS, msgpack and the schemas. To read the file of a log, use `openLogReader` of `rlanything`.
 */
export type { Bus, BusAddress } from './bus.ts'
export {
  CATALOGUE,
  type EventData,
  type EventType,
  FAMILIES,
  isEventType,
  keyOf,
  type LoggedEvent,
  type NewEvent,
} from './catalogue.ts'
export { float32Column, int32Column, readFloat32, readInt32, readUint8, toColumn } from './columns.ts'
export { type Envelope, envelopeSchema, ROLES, type Role, RUN_ID } from './envelope.ts'
export type { Appended } from './log.ts'
export { connectLog, type LogClient, type LogClientOptions } from './log-client.ts'
export { type BusOptions, connectBus } from './nats/connect.ts'
export { POSITION_HEADER, type Subjects, subjectsOf } from './subjects.ts'
export {
  type Seen,
  type SubscribeOptions,
  type Subscription,
  subscribe,
  subscribeBatches,
} from './subscription.ts'
