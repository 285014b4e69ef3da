/** Every type of event, by name. Schemas, types, docs and asyncapi.yaml all come from here. */
import type { z } from 'zod'
import { experienceEvents } from './catalogue/experience.ts'
import { gatewayEvents } from './catalogue/gateway.ts'
import { instructionEvents } from './catalogue/instructions.ts'
import { iterationEvents } from './catalogue/iteration.ts'
import { modelEvents } from './catalogue/model.ts'
import { rewardEvents } from './catalogue/reward.ts'
import { runEvents } from './catalogue/run.ts'
import { taskEvents } from './catalogue/task.ts'
import type { Envelope } from './envelope.ts'

export const FAMILIES = {
  run: runEvents,
  iteration: iterationEvents,
  experience: experienceEvents,
  reward: rewardEvents,
  task: taskEvents,
  model: modelEvents,
  gateway: gatewayEvents,
  instructions: instructionEvents,
} as const

export const CATALOGUE = {
  ...runEvents,
  ...iterationEvents,
  ...experienceEvents,
  ...rewardEvents,
  ...taskEvents,
  ...modelEvents,
  ...gatewayEvents,
  ...instructionEvents,
} as const

type Catalogue = typeof CATALOGUE
export type EventType = keyof Catalogue
export type EventData<T extends EventType> = z.output<Catalogue[T]['schema']>

/** An event as an actor makes it: the rest of the envelope is added when it is sent. */
export type NewEvent<T extends EventType = EventType> = {
  [K in T]: { readonly type: K; readonly data: EventData<K> }
}[T]

/** An event as the log gives it back, upcast to the newest schema. */
export type LoggedEvent<T extends EventType = EventType> = {
  [K in T]: Omit<Envelope, 'type' | 'data'> & {
    readonly type: K
    readonly data: EventData<K>
    readonly position: number
  }
}[T]

/**
 * Returns the natural key of an event within its run, or null if it has none.
 * @example keyOf({ type: 'RunCompleted', data: { iterations: 3, metrics: {} } }) // 'RunCompleted'
 */
export function keyOf<T extends EventType>(event: NewEvent<T>): string | null {
  return (CATALOGUE[event.type].key as (data: EventData<T>) => string | null)(event.data)
}

/**
 * Returns whether the catalogue has an event type of this name.
 * @example isEventType('PolicyUpdated') // true
 */
export function isEventType(type: string): type is EventType {
  return Object.hasOwn(CATALOGUE, type)
}
