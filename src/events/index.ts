/** The public face, `import { subscribe } from 'rlanything/events'`: follow a run from any program. */
export { type Bus, type BusAddress, type BusOptions, connectBus } from './bus.ts'
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
export { type Appended, type EventLog, forkLog, type LogOptions, openLog } from './log.ts'
export { connectLog, type LogClient, type LogClientOptions } from './log-client.ts'
export { type LogReader, openLogReader, type ParentLink, type ReadOptions } from './log-reader.ts'
export { POSITION_HEADER, type Subjects, subjectsOf } from './subjects.ts'
export { type SubscribeOptions, type Subscription, subscribe, subscribeBatches } from './subscription.ts'
