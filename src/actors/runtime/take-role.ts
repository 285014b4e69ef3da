import { type Clock, pause } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { codeDigest, packageVersion } from '../../package.ts'
import type { Platform } from '../../platform/platform.ts'
import { processText } from '../../platform/process-id.ts'

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

/** The event by which a process takes up a role: it tells its place, its code and its version of Node. */
export function actorStarted(
  { role, worker, decider, note }: Pick<EventData<'ActorStarted'>, 'role' | 'worker' | 'decider' | 'note'>,
  { hostname: host, self }: Platform,
): NewEvent<'ActorStarted'> {
  const code = { version: packageVersion(), digest: codeDigest() }
  const at = { host, pid: self.pid, process: processText(self), node: process.version, code }
  return { type: 'ActorStarted', data: { role, worker, ...at, decider, note } }
}
