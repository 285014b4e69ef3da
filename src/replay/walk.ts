/** Walks through a log event by event, with the reactions of the deciders. */
import { type Output, startDecider } from '../actors/decider/decider.ts'
import { decidersOf } from '../actors/deciders.ts'
import { loggedConfig } from '../config.ts'
import type { LoggedEvent } from '../events/catalogue.ts'
import type { Role } from '../events/envelope.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'

export type Reaction = {
  readonly role: Role
  readonly before: string
  readonly after: string
  readonly outputs: readonly Output[]
}

export type Step = {
  readonly event: LoggedEvent
  /** Reactions of the deciders that read this type of event. */
  readonly reactions: readonly Reaction[]
}

/** Yields from position `from` on. Earlier events are fed silently. */
export function* walk(
  log: LogReader,
  { from = 1, until = Infinity }: { readonly from?: number; readonly until?: number } = {},
): Generator<Step> {
  const deciders = decidersOf(loggedConfig(startsOf(log).first.data.config)).map(startDecider)
  for (const event of log.events({ until })) {
    const reactions = deciders
      .filter(({ decider }) => decider.interests.has(event.type))
      .map((running): Reaction => {
        const before = running.state()
        const outputs = [...running.handle(event)]
        return { role: running.decider.role, before, after: running.state(), outputs }
      })
    if (event.position >= from) yield { event, reactions }
  }
}
