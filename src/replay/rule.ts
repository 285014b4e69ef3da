/** The rule of a machine by which a decider made a decision: guards and transitions by name. */
import { actionsOf, describe, statesOf, transitionsOf } from '../actors/decider/chart.ts'
import { type Decider, decidingAction, startDecider } from '../actors/decider/decider.ts'
import { deciderOf, decidersOf } from '../actors/deciders.ts'
import { loggedConfig, parseConfig } from '../config.ts'
import type { LoggedEvent } from '../events/catalogue.ts'
import type { Role } from '../events/envelope.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'

export type Ruling = {
  readonly before: string
  readonly after: string
  /** Transitions taken, in order, e.g. `serving.choosing: always -> training / train`. */
  readonly rules: readonly string[]
  /** The decider's context after the event. */
  readonly context: unknown
}

/** Feeds one decider up to a position and returns the effect of the event there. */
export function rulingAt(log: LogReader, role: Role, position: number): Ruling {
  const running = startDecider(deciderOf(role, loggedConfig(startsOf(log).first.data.config)))
  const { interests } = running.decider
  for (const event of log.events({ until: position - 1, types: [...interests] })) running.handle(event)
  const before = running.state()
  const rules: string[] = []
  running.inspect((step) => {
    if (step.type === '@xstate.microstep')
      for (const transition of step._transitions) rules.push(describe(transition))
  })
  for (const event of log.events({ from: position, until: position })) running.handle(event)
  return { before, after: running.state(), rules, context: running.context() }
}

/**
 * Returns the transition that decided an event, or that asked for the work whose result it is. Returns null
 * if no decider had a say. It needs the charts alone, so it takes no time on a log of any length.
 */
export function ruleOf(event: LoggedEvent): string | null {
  for (const decider of charts()) {
    const action = decidingAction(decider, event)
    if (action !== null) return transitionsWith(decider, action).join(' or ')
  }
  return null
}

function transitionsWith({ machine }: Decider, action: string): string[] {
  const taken = statesOf(machine)
    .flatMap(transitionsOf)
    .filter((transition) => actionsOf(transition).includes(action))
  return [...new Set(taken.map(describe))]
}

let known: readonly Decider[] | null = null

/** Charts are the same under every config. */
function charts(): readonly Decider[] {
  known ??= decidersOf(parseConfig({}))
  return known
}
