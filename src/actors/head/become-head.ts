/** The process of a standby: it waits beside a head elsewhere until the run is free for it. */
import { addressFromEnvironment, runFolder } from '../../broker/connection.ts'
import { RlError } from '../../errors.ts'
import type { BusAddress } from '../../events/bus.ts'
import { connectBus } from '../../events/nats/connect.ts'
import { hasBegun } from '../../events/starts.ts'
import { loadAllUserParts } from '../../user-parts.ts'
import { joinedAddress } from '../joined.ts'
import type { StartOptions } from '../start-options.ts'
import { markOwn } from './own-runs.ts'
import { INTERRUPTED } from './pages.ts'
import { runConfigs } from './run-configs.ts'
import { standBy } from './standby.ts'

/** How the head of a run reaches the broker. Undefined if it starts one of its own. */
export function headAddress({ nats, join }: Pick<StartOptions, 'nats' | 'join'>): BusAddress | undefined {
  if (join !== null) return joinedAddress(join)
  return nats === null ? undefined : addressFromEnvironment(nats)
}

/**
 * Waits until the head of the run ends or is silent. Returns the revision of that head's record, or the exit status if this process is
 * not needed any more.
 *
 * @throws RlError `cli.usage`, and those of `standBy`
 */
export async function waitBesideHead(
  options: StartOptions,
): Promise<{ readonly silent: number } | { readonly status: number }> {
  const address = headAddress(options)
  if (address === undefined || options.run === null)
    throw new RlError('a standby needs the brokers of the run', {
      code: 'cli.usage',
      hint: '--nats URL,URL,URL with all of them, or --join FILE',
    })
  const folder = runFolder(options.run)
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  const interrupted = new AbortController()
  const stop = () => interrupted.abort()
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  const bus = await connectBus({ ...address, name: `rl-${options.run}-standby` })
  try {
    const end = await standBy({
      bus,
      folder,
      signal: interrupted.signal,
      say,
      // A head that has to read its config and load its modules first leaves the run without a head for longer.
      async prepare(log) {
        markOwn(log)
        await loadAllUserParts((await runConfigs(folder, options.trust)).config)
      },
    })
    if (end.kind === 'over') {
      say(`run '${options.run}' is over: this standby ends`)
      return { status: 0 }
    }
    if (!hasBegun(folder.log))
      throw new RlError(`the head of run '${options.run}' ended before the run began`, {
        code: 'standby.not-begun',
        hint: 'start it with its config: npm start -- --role head --run ID --config FILE',
      })
    say(`the head of run '${options.run}' is gone: this process is its head now`)
    return { silent: end.silent }
  } catch (error) {
    if (!interrupted.signal.aborted) throw error
    say('the standby was ended; the run goes on without it')
    return { status: INTERRUPTED }
  } finally {
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
    await bus.close()
  }
}
