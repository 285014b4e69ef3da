/**
 * A decider is the pure half of a role: an XState machine whose only inputs are events in log order and whose only
 * outputs are new events and requests for work. No clock, no randomness, no I/O: the same log gives the same outputs.
 */
import { type AnyStateMachine, createActor } from 'xstate'
import type { EventType, LoggedEvent, NewEvent } from '../events/catalogue.ts'
import type { Role } from '../events/envelope.ts'

/**
 * Work for the worker half. It is done when the log holds an event with the natural key `done`; a job whose result is
 * missing after a restart is simply handed out again.
 */
export type Job<Input = unknown> = {
  readonly kind: string
  /** Natural key (catalogue.ts) of the event that ends this job, e.g. `PolicyUpdated/3`. */
  readonly done: string
  readonly input: Input
  /** From the config: how long the job may take before it counts as stalled. */
  readonly deadlineMs: number
}

export type Output =
  | { readonly type: 'event'; readonly event: NewEvent }
  | { readonly type: 'job'; readonly job: Job }

export type Decider = {
  readonly role: Role
  /** Emits `Output`s (XState `emit`) and reads events of the types in `interests` only. */
  readonly machine: AnyStateMachine
  readonly interests: ReadonlySet<EventType>
  /**
   * Folds an event straight into the machine's context where it can neither change the state nor lead to an output, and
   * says so; false hands it to the machine. For the type that comes a hundred times as often as all others.
   */
  readonly absorb?: (context: unknown, event: LoggedEvent) => boolean
  /** Raised when the machine's context or rules change: snapshots of another version are discarded. */
  readonly version: number
}

export type RunningDecider = {
  readonly decider: Decider
  /** Feeds one event and returns what the machine asks for because of it. */
  readonly handle: (event: LoggedEvent) => readonly Output[]
  /** What a person would call the present state, e.g. `collecting`. */
  readonly state: () => string
  readonly context: () => unknown
}

/** Starts a decider at the beginning of a log. */
export function startDecider(decider: Decider): RunningDecider {
  let outputs: Output[] = []
  const actor = createActor(decider.machine)
  actor.on('*', (emitted: unknown) => {
    outputs.push(emitted as Output)
  })
  actor.start()
  return {
    decider,
    handle(event) {
      if (!decider.interests.has(event.type)) return []
      if (decider.absorb?.(actor.getSnapshot().context, event)) return []
      outputs = []
      actor.send(event)
      return outputs
    },
    state: () => stateName(actor.getSnapshot().value),
    context: () => actor.getSnapshot().context,
  }
}

function stateName(value: unknown): string {
  if (typeof value === 'string') return value
  return Object.entries(value as Record<string, unknown>)
    .map(([name, inner]) => `${name}.${stateName(inner)}`)
    .join(' ')
}
