/** The head's answer on `call.actors`: the actors that it heard of, including those that went silent. */
import { type RunFolder, readConnection, toolAddress } from '../../broker/connection.ts'
import { explain } from '../../errors.ts'
import type { BusAddress } from '../../events/bus.ts'
import { pack, unpackUntrusted } from '../../events/msgpack.ts'
import { connectBus } from '../../events/nats/connect.ts'
import { subjectsOf } from '../../events/subjects.ts'
import type { Hosts } from './hosts.ts'
import type { Limit } from './limits.ts'
import type { LoopDelay } from './loop-delay.ts'
import type { NamedDepth } from './queue-depths.ts'
import type { WatchedActor } from './watch.ts'

export type LiveRun = {
  /** At most `MOST_TOLD`: deciders and silent processes first. */
  readonly actors: readonly WatchedActor[]
  /** Number of all actors, and what each host does. Older heads tell neither. */
  readonly actorsInAll?: number
  readonly hosts?: Hosts
  /** Rollouts asked for and not yet over. */
  readonly openWork: number
  /** Number of publishes to queues that failed so far. Each was tried again. */
  readonly queueFailures: number
  /** Since when nothing is appended because the disk is nearly full (ms since 1970), or null. */
  readonly pausedSince: number | null
  readonly position: number
  readonly deadLetters: number
  readonly brokerRestarts: number
  /** Delay of the head's event loop. Older heads do not tell it. */
  readonly loopDelay?: LoopDelay
  /** Limits that hold the run back now. Older heads do not tell them. */
  readonly limits?: readonly Limit[]
  /** How full the work queues were at the last look. Absent before the first one. Older heads do not tell it. */
  readonly queues?: readonly NamedDepth[]
}

/** Asks the head of a run, or says why it cannot be asked. */
export async function askHead(
  folder: RunFolder,
  timeoutMs = 1_500,
): Promise<LiveRun | { readonly unreachable: string }> {
  const connection = readConnection(folder.connection)
  if (!connection) return { unreachable: 'no head is running' }
  return askAt(folder.run, toolAddress(connection), timeoutMs)
}

/** The same over a broker that is known. */
export async function askAt(
  run: string,
  address: BusAddress,
  timeoutMs: number,
): Promise<LiveRun | { readonly unreachable: string }> {
  try {
    const bus = await connectBus({ ...address, timeoutMs, name: 'rl' })
    try {
      return unpackUntrusted(
        await bus.request(subjectsOf(run).call('actors'), pack({}), { timeoutMs }),
      ) as LiveRun
    } finally {
      await bus.close()
    }
  } catch (error) {
    return { unreachable: explain(error) }
  }
}
