/** By which rule of its machine a decider came to a decision: the transitions that one event led to. */
import type { AnyTransitionDefinition } from 'xstate'
import { startDecider } from '../actors/decider/decider.ts'
import { decidersOf } from '../actors/deciders.ts'
import { loggedConfig } from '../config.ts'
import type { Role } from '../events/envelope.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'

export type Ruling = {
  readonly before: string
  readonly after: string
  /** Transitions taken, in order, e.g. `serving.collecting -> training [readyToTrain] / train`. */
  readonly rules: readonly string[]
  /** The decider's context after the event. */
  readonly context: unknown
}

/** Feeds one decider up to a position and tells what the event there did to it. */
export function rulingAt(log: LogReader, role: Role, position: number): Ruling {
  const config = loggedConfig(startsOf(log).first.data.config)
  const running = startDecider(decidersOf(config).filter((decider) => decider.role === role)[0])
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

function describe({ eventType, source, target, guard, actions }: AnyTransitionDefinition): string {
  const on = eventType === '' ? 'always' : `on ${eventType}`
  const goal = target?.map(({ key }) => key).join(', ')
  const condition = guard ? ` [${nameOf(guard)}]` : ''
  const does = actions.length > 0 ? ` / ${actions.map(nameOf).join(', ')}` : ''
  return `${source.path.join('.') || source.key}: ${on}${goal ? ` -> ${goal}` : ''}${condition}${does}`
}

function nameOf(part: unknown): string {
  if (typeof part === 'string') return part
  return typeof part === 'object' && part !== null && 'type' in part ? String(part.type) : 'unnamed'
}
