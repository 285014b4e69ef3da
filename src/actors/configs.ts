/** Asks the log for the config of its run, before the process does anything else. */
import { type Clock, pause, systemClock } from '../clock.ts'
import { type Config, loggedConfig } from '../config.ts'
import { RlError } from '../errors.ts'
import type { LogClient } from '../events/log-client.ts'
import { readEvents } from './rollout/log-queries.ts'
import { HEAD_GONE_MS, headGone } from './runtime/head-gone.ts'

/**
 * Returns the config that the log begins with, and the one that holds now. They differ in a fork. Errors:
 * `run.not-started`, and `actor.head-gone` if no head answers within a minute.
 */
export async function configsOf(
  log: LogClient,
  clock: Clock = systemClock,
): Promise<{ readonly first: Config; readonly config: Config }> {
  const answered = new AbortController()
  const late = pause(HEAD_GONE_MS, answered.signal, clock).then(() => null)
  const page = await Promise.race([readEvents(log, 1, ['RunStarted']), late]).finally(() => answered.abort())
  if (page === null) throw headGone(log.run, HEAD_GONE_MS)
  const { events } = page
  const [first] = events
  const last = events.at(-1)
  if (!first || !last)
    throw new RlError(`the log of run '${log.run}' does not begin with RunStarted`, {
      code: 'run.not-started',
      hint: 'start its head first',
    })
  return { first: loggedConfig(first.data.config), config: loggedConfig(last.data.config) }
}
