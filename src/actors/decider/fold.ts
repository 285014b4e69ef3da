/**
 * Building blocks of a decider's rules. `fold` enters an event in the context. `ask` and `decide` ask for events and
 * work. `when` is a guard that looks at the event.
 */
import { enqueueActions, type MachineContext } from 'xstate'
import {
  type EventData,
  type EventType,
  keyOf,
  type LoggedEvent,
  type NewEvent,
} from '../../events/catalogue.ts'
import type { Job, JobKind, JobOf, Jobs } from './jobs.ts'
import type { Output } from './output.ts'

/**
 * Returns an action that enters events of one type, or of several equivalent types, by changing the context in place.
 */
export function fold<Context extends MachineContext, Type extends EventType>(
  types: Type | readonly Type[],
  enter: (context: Context, data: EventData<Type>, event: LoggedEvent<Type>) => void,
) {
  return decide<Context>((context, event) => {
    if (isOf(types, event)) enter(context, event.data as EventData<Type>, event as LoggedEvent<Type>)
    return NOTHING
  })
}

/** Returns an action that asks for something because of an event. It may change the context as well. */
export function ask<Context extends MachineContext, Type extends EventType>(
  types: Type | readonly Type[],
  outputs: (context: Context, data: EventData<Type>) => readonly Output[],
) {
  return decide<Context>((context, event) =>
    isOf(types, event) ? outputs(context, event.data as EventData<Type>) : NOTHING,
  )
}

const NOTHING: readonly Output[] = []

/**
 * The same on the way from one state to another, whatever event led there. As `enqueueActions`, because XState carries
 * those out before it looks at the next guards, and they may emit.
 */
export function decide<Context extends MachineContext>(
  outputs: (context: Context, event: LoggedEvent) => readonly Output[],
) {
  const action = enqueueActions<
    Context,
    LoggedEvent,
    undefined,
    LoggedEvent,
    never,
    never,
    never,
    never,
    Output
  >(({ context, event, enqueue }) => {
    for (const output of outputs(context, event)) enqueue.emit(output)
  })
  rules.set(action, outputs as Outputs)
  return action
}

/** Outputs of an action because of an event. */
export type Outputs = (context: unknown, event: LoggedEvent) => readonly Output[]

const rules = new WeakMap<object, Outputs>()

/** Returns the rule behind an action that was made here, or null for any other action. */
export function outputsOf(action: unknown): Outputs | null {
  return typeof action === 'function' ? (rules.get(action) ?? null) : null
}

/** Returns a guard that looks at an event before it is entered. The guard is false after events of other types. */
export function when<Context extends MachineContext, Type extends EventType>(
  types: Type | readonly Type[],
  holds: (context: Context, data: EventData<Type>) => boolean,
) {
  return ({ context, event }: { readonly context: Context; readonly event: LoggedEvent }): boolean =>
    isOf(types, event) && holds(context, event.data as EventData<Type>)
}

function isOf(types: EventType | readonly EventType[], { type }: LoggedEvent): boolean {
  return typeof types === 'string' ? types === type : types.includes(type)
}

export function emitEvent<Type extends EventType>(type: Type, data: EventData<Type>): Output {
  return { type: 'event', event: { type, data } as NewEvent }
}

export function askFor<Kind extends JobKind>(
  kind: Kind,
  done: string,
  input: Jobs[Kind],
  seconds: number,
): Output {
  const job: JobOf<Kind> = { kind, done, input, deadlineMs: Math.round(seconds * 1000) }
  return { type: 'job', job: job as Job }
}

/** The natural key that ends a job, written as the event that will bear it. */
export function doneBy<Type extends EventType>(type: Type, data: Partial<EventData<Type>>): string {
  const key = keyOf({ type, data } as unknown as NewEvent)
  if (key === null) throw new TypeError(`events of type ${type} have no natural key`)
  return key
}

/** Returns a model's next version if there was nothing to learn. Its weights are those of the previous version. */
export function unchangedVersion(version: number, stopped: string | null): EventData<'PolicyUpdated'> {
  return {
    iteration: version,
    version,
    parentVersion: version === 0 ? null : version - 1,
    checkpoint: null,
    trainedOn: [],
    samples: 0,
    metrics: {},
    stopped,
  }
}
