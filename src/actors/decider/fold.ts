/** The few words in which every decider is written. */
import { enqueueActions, type MachineContext } from 'xstate'
import {
  type EventData,
  type EventType,
  keyOf,
  type LoggedEvent,
  type NewEvent,
} from '../../events/catalogue.ts'
import type { Output } from './decider.ts'

/**
 * A machine's action for one type of event: changes the context in place and may return what it asks for. In place,
 * because a context belongs to one running decider and a replay feeds it millions of events; as `enqueueActions`, because
 * XState resolves those before it looks at the next guards, and they may emit.
 */
export function fold<Context extends MachineContext, Type extends EventType>(
  type: Type,
  apply: (context: Context, data: EventData<Type>, event: LoggedEvent<Type>) => readonly Output[] | undefined,
) {
  return enqueueActions<Context, LoggedEvent, undefined, LoggedEvent, never, never, never, never, Output>(
    ({ context, event, enqueue }) => {
      if (event.type !== type) return
      const typed = event as LoggedEvent<Type>
      for (const output of apply(context, typed.data as EventData<Type>, typed) ?? []) enqueue.emit(output)
    },
  )
}

/** An action on the way from one state to another, whatever event led there. */
export function decide<Context extends MachineContext>(
  apply: (context: Context, event: LoggedEvent) => readonly Output[] | undefined,
) {
  return enqueueActions<Context, LoggedEvent, undefined, LoggedEvent, never, never, never, never, Output>(
    ({ context, event, enqueue }) => {
      for (const output of apply(context, event) ?? []) enqueue.emit(output)
    },
  )
}

export function emitEvent<Type extends EventType>(type: Type, data: EventData<Type>): Output {
  return { type: 'event', event: { type, data } as NewEvent }
}

export function askFor<Input>(kind: string, done: string, input: Input, seconds: number): Output {
  return { type: 'job', job: { kind, done, input, deadlineMs: Math.round(seconds * 1000) } }
}

/** The natural key that ends a job, written as the event that will bear it. */
export function doneBy<Type extends EventType>(type: Type, data: Partial<EventData<Type>>): string {
  const key = keyOf({ type, data } as unknown as NewEvent)
  if (key === null) throw new TypeError(`events of type ${type} have no natural key`)
  return key
}

/** A model's next version where there was nothing to learn: the weights are those of the one before. */
export function unchangedVersion(version: number, stopped: string): EventData<'PolicyUpdated'> {
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
