/**
 * A decider is the pure half of a role: an XState machine without clock, randomness or I/O. Its only inputs are events
 * in log order. Its only outputs are new events and requests for work. So the same log gives the same outputs.
 *
 * Its actions change the machine's context in place, unlike those of most XState machines. A context belongs to one
 * running decider, and a replay feeds it millions of events. So a snapshot is only valid until the next event, unless
 * it is encoded (runtime/key-frame.ts).
 */
import type { AnyStateMachine, InspectionEvent } from 'xstate'
import { type Config, loggedConfig } from '../../config.ts'
import type { EventData, EventType, LoggedEvent, NewEvent } from '../../events/catalogue.ts'
import type { Role } from '../../events/envelope.ts'
import { startActor, startEngine } from './engine.ts'
import type { Output } from './output.ts'

export type { Output }

export type Decider = {
  readonly role: Role
  /** Emits `Output`s (XState `emit`) and reads events of the types in `interests` only. */
  readonly machine: AnyStateMachine
  readonly interests: ReadonlySet<EventType>
  /**
   * Fast path for the most frequent event type, which comes a hundred times as often as all others. If the machine
   * would only update its context, without a new state or output, this does the same and returns true. The machine has
   * the transition too, and a test holds both to the same result.
   */
  readonly absorb?: (context: unknown, event: LoggedEvent) => boolean
  /** Action that decides an event, or asks for the work whose result it is, by type. */
  readonly decides: Decides
  /** Raised when the machine's context or rules change: snapshots of another version are discarded. */
  readonly version: number
  /** The same decider under another config: a log tells by RunStarted which one holds from there on. */
  readonly withConfig?: (config: Config) => Decider
}

/** Returns null if an event of the type was no decision, e.g. a RunFailed that a person sent. */
type Decides = { readonly [T in EventType]?: (data: EventData<T>) => string | null }

/** Returns the action of a decider that led to an event, or null if the decider had no say. */
export function decidingAction<T extends EventType>({ decides }: Decider, event: NewEvent<T>): string | null {
  const actionOf = decides[event.type as T] as ((data: EventData<T>) => string | null) | undefined
  return actionOf?.(event.data as EventData<T>) ?? null
}

/**
 * State of a decider between two events. Its contents change with the next event, so it is copied or encoded at once.
 */
export type DeciderState = {
  /** State of the machine, as XState gives it. */
  readonly value: unknown
  readonly context: unknown
  /** Config in the RunStarted of the youngest fork that the decider has seen. Null before one. */
  readonly config: unknown
}

export type RunningDecider = {
  readonly decider: Decider
  /** Feeds one event and returns the machine's requests because of it. */
  readonly handle: (event: LoggedEvent) => readonly Output[]
  /** Returns a person's name for the present state, e.g. `collecting`. */
  readonly state: () => string
  readonly context: () => unknown
  /** `resumeDecider` goes on from here as if all events so far had been fed to it. */
  readonly snapshot: () => DeciderState
  /** Hears of every transition from now on. */
  readonly inspect: (observer: (event: InspectionEvent) => void) => void
}

/**
 * Starts a decider at the beginning of a log. A RunStarted in the middle marks a fork. State and context stay, and from
 * there on the config of the fork decides.
 */
export function startDecider(decider: Decider): RunningDecider {
  return startAt(decider, null)
}

/** Starts a decider from a snapshot. The snapshot is the decider's from then on. */
export function resumeDecider(decider: Decider, from: DeciderState): RunningDecider {
  return startAt(decider, from)
}

function startAt(decider: Decider, from: DeciderState | null): RunningDecider {
  let outputs: Output[] = []
  let config = from?.config ?? null
  let rules = config === null ? decider : rulesUnder(config)
  let engine = startEngine(rules.machine, from, emit)

  function rulesUnder(values: unknown): Decider {
    return decider.withConfig?.(loggedConfig(values)) ?? decider
  }

  function emit(output: Output): void {
    outputs.push(output)
  }

  function adopt(started: EventData<'RunStarted'>): void {
    if (started.parent === null || !decider.withConfig) return
    config = started.config
    rules = rulesUnder(config)
    const place = engine.place()
    engine.stop()
    engine = startEngine(rules.machine, place, emit)
  }

  return {
    decider,
    handle(event) {
      if (!rules.interests.has(event.type)) return []
      if (rules.absorb?.(engine.context(), event)) return []
      outputs = []
      if (event.type === 'RunStarted') adopt(event.data)
      engine.send(event)
      return outputs
    },
    state: () => stateName(engine.place().value),
    context: () => engine.context(),
    snapshot: () => ({ ...engine.place(), config }),
    inspect(observer) {
      const place = engine.place()
      engine.stop()
      const watched = startActor(rules.machine, place, emit)
      watched.inspect(observer)
      engine = watched
    },
  }
}

function stateName(value: unknown): string {
  if (typeof value === 'string') return value
  return Object.entries(value as Record<string, unknown>)
    .map(([name, inner]) => `${name}.${stateName(inner)}`)
    .join(' ')
}
