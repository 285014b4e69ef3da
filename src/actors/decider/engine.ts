/** Runs a decider's machine: by the stepper if its chart is plain, else by an actor of XState. */
import { type AnyStateMachine, createActor, type InspectionEvent } from 'xstate'
import type { LoggedEvent } from '../../events/catalogue.ts'
import type { Output } from './output.ts'
import { openStepper } from './stepper.ts'

/** A place in a chart: the state, as XState gives it, and the context. */
export type Place = { readonly value: unknown; readonly context: unknown }

export type Engine = {
  readonly place: () => Place
  readonly context: () => unknown
  readonly send: (event: LoggedEvent) => void
  readonly stop: () => void
}

type Emit = (output: Output) => void

/** Starts a machine at its beginning, or at a place. */
export function startEngine(machine: AnyStateMachine, at: Place | null, emit: Emit): Engine {
  const actor = startActor(machine, at, emit)
  const stepper = openStepper(machine, actor.place())
  if (stepper === null) return actor
  actor.stop()
  const { context, value, send } = stepper
  return {
    place: () => ({ value: value(), context }),
    context: () => context,
    send: (event) => send(event, emit),
    stop() {},
  }
}

type WatchedEngine = Engine & {
  /** Hears of every transition from now on. */
  readonly inspect: (observer: (event: InspectionEvent) => void) => void
}

/** The same by an actor of XState. It tells of its transitions. */
export function startActor(machine: AnyStateMachine, at: Place | null, emit: Emit): WatchedEngine {
  const actor = createActor(machine, {
    snapshot:
      at === null ? undefined : machine.resolveState({ value: at.value as string, context: at.context }),
  })
  actor.on('*', (emitted: unknown) => emit(emitted as Output))
  actor.start()
  return {
    place() {
      const { value, context } = actor.getSnapshot()
      return { value, context }
    },
    context: () => actor.getSnapshot().context,
    send: (event) => actor.send(event),
    stop: () => void actor.stop(),
    inspect: (observer) => void actor.system.inspect(observer),
  }
}
