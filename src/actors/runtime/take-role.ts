import { type Clock, pause } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'

export type TakeRoleOptions = {
  readonly heartbeatMs: number
  readonly stopping: AbortSignal
  readonly clock: Clock
}

/**
 * Takes the role. The head refuses a second decider of a role (`actor.second-decider`). It forgets a killed decider
 * after two heartbeats.
 */
export async function takeRole(
  log: LogClient,
  started: NewEvent<'ActorStarted'>,
  { heartbeatMs, stopping, clock }: TakeRoleOptions,
): Promise<void> {
  const until = clock.monotonic() + 3 * heartbeatMs
  for (;;) {
    try {
      await log.append([started])
      return
    } catch (error) {
      const second = error instanceof RlError && error.code === 'actor.second-decider'
      if (!second || clock.monotonic() > until) throw error
      await pause(heartbeatMs / 4, stopping, clock)
    }
  }
}
