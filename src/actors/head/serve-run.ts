/**
 * Makes a process the head of a run, on any bus. It takes the fence, then answers for the log and watches the actors.
 */
import { RlError } from '../../errors.ts'
import type { Bus, WorkQueue } from '../../events/bus.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import type { EventLog } from '../../events/log.ts'
import { pack } from '../../events/msgpack.ts'
import { subjectsOf } from '../../events/subjects.ts'
import { type Platform, systemPlatform } from '../../platform/platform.ts'
import { parseProcess } from '../../platform/process-id.ts'
import { overMark } from '../runtime/run-over.ts'
import type { WorkKind } from '../runtime/work.ts'
import { takeFence } from './fence.ts'
import { openHostFacts } from './hosts.ts'
import { limitsOf, openAsked } from './limits.ts'
import type { LiveRun } from './liveness.ts'
import { type LogService, startLogService } from './log-service.ts'
import { openProcessorTimes } from './processor-times.ts'
import { queueDepths } from './queue-depths.ts'
import { openReplica, type Replica, recordsOf } from './replica.ts'
import { type AsideHost, openSetAsides } from './set-asides.ts'
import { type Watch, type WatchedActor, watchActors } from './watch.ts'

export type ServedRun = {
  readonly service: LogService
  readonly watch: Watch
  /** Resolves when another head has taken the run: this one may write no more. */
  readonly fenced: Promise<RlError>
  /** Returns why this head may not speak for the run now, or null. */
  readonly refusal: () => RlError | null
  /** Ends in good order. `next` names a standby that takes the run at once. */
  readonly close: (next?: string) => Promise<void>
}

export type ServeRunOptions = {
  readonly log: EventLog
  readonly bus: Bus
  readonly work: readonly WorkKind[]
  /** Queues of other work, e.g. of executors. */
  readonly queues?: readonly WorkQueue[]
  readonly heartbeatMs: number
  /** True if nobody else can be on this broker. An earlier head's record is then taken at once. */
  readonly alone: boolean
  /** Time for which a silent head keeps the run, and time between its renewals. For tests. */
  readonly fenceTimes?: { readonly leaseMs: number; readonly renewMs: number }
  /** Whether brokers of a cluster keep the log too. */
  readonly replicated?: boolean
  /** Revision of an earlier head's record that a standby saw in silence for a lease. */
  readonly silent?: number
  /** Whether work that is late on one host is given to a second one. */
  readonly copies?: boolean
  /** Brings a broker back that answers nothing. Without it the silence can only be told. */
  readonly reviveBroker?: (reason: string) => void
  /** The process's own measurements, for `rl status`. */
  readonly measured: () => Pick<LiveRun, 'brokerRestarts' | 'loopDelay'>
  readonly platform?: Platform
}

/**
 * Serves a run as its head. Errors: `head.second` if the run has another head, and those of the bus. The log and the
 * bus stay open.
 */
export async function serveRun(options: ServeRunOptions): Promise<ServedRun> {
  const {
    log,
    bus,
    work,
    queues,
    heartbeatMs,
    alone,
    fenceTimes,
    reviveBroker,
    measured,
    platform = systemPlatform,
  } = options
  const { run } = log
  const undo: (() => Promise<void> | void)[] = []
  let service: LogService | null = null
  let toldSilence = 0
  let epoch = 0

  /** Tells an event. A log begins with RunStarted, or the run could never begin. So earlier events are not written. */
  function tell(event: NewEvent): void {
    if (log.head().position === 0) return
    try {
      service?.append([event], { urgent: true })
    } catch {
      // The disk is full to the last byte: `rl status` shows the stall all the same.
    }
  }

  /**
   * Tells the broker's silence. A broker that hangs, or that turned its store off on a full disk, holds the whole run
   * up.
   */
  function onSilence(since: number): void {
    if (since !== toldSilence) tell(brokerStall(since, platform.clock.now()))
    toldSilence = since
    reviveBroker?.('nats-server does not answer')
  }

  /** A role that is cut off from the broker while this head ends hears of the end later. */
  async function markIfOver(): Promise<void> {
    if (log.positionOf('key', 'RunCompleted') !== null)
      await overMark(bus, run)
        .set(epoch)
        .catch(() => {})
  }

  let nextHead: string | undefined
  async function close(next?: string): Promise<void> {
    nextHead = next
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const after = Number(log.meta('epoch') ?? 0)
    const { silent } = options
    const fence = await takeFence({ bus, run, after, alone, silent, onSilence, platform, ...fenceTimes })
    undo.push(() => fence.release(nextHead))
    epoch = fence.epoch
    log.setMeta('epoch', String(fence.epoch))
    undo.push(markIfOver)
    const replica = options.replicated ? await replicaOf(log, bus, epoch, platform) : undefined
    const hostFacts = openHostFacts(log, platform.clock)
    const setAsides = openSetAsides()
    const asked = openAsked(log)
    // Processes that outlived the last head do not start again.
    for (const event of log.events({ types: ['ActorStarted', 'IterationStarted'] })) setAsides.see(event)
    const processorTimes = openProcessorTimes(platform.clock.now())
    const watch = watchActors(log, { heartbeatMs, platform, heard: processorTimes.hear })
    const started = await startLogService({
      log,
      bus,
      work,
      queues,
      copies: options.copies,
      epoch: fence.epoch,
      replica,
      admit: (event) => fence.refusal() ?? watch.admit(event),
      refusal: fence.refusal,
      onAppended(events) {
        watch.observe(events)
        hostFacts.observe(events)
        for (const { event } of events) {
          asked.see(event.envelope)
          const aside = setAsides.see(event.envelope)
          if (aside !== null) setAsides.see({ ...aside, actor: 'head', cause: event.envelope.id })
          // These events are not published yet.
          for (const found of [aside, processorTimes.see(event.envelope)])
            if (found !== null) platform.clock.soon(() => tell(found))
        }
      },
      aside: () => asideNow(setAsides.now(), watch.actors),
      ackWaitMs: 2 * heartbeatMs,
      platform,
    })
    service = started
    undo.push(started.close)
    watch.start(bus, tell)
    undo.push(watch.stop)
    const depths = queueDepths({ bus, run, work, queues: queues ?? [], now: platform.clock.now })
    const tellActors = (): Uint8Array => {
      const found = depths()
      const actors = watch.actors()
      const hosts = hostFacts.hostsOf(actors, setAsides.now())
      const told = {
        openWork: started.openWork(),
        pausedSince: started.pausedSince(),
        ...measured(),
        ...(found === null ? {} : { queues: found }),
      }
      const { slots } = hosts.total
      return pack({
        actors: toldOf(actors),
        actorsInAll: actors.length,
        hosts,
        queueFailures: started.queueFailures(),
        position: log.head().position,
        deadLetters: log.deadLetters(0).total,
        ...told,
        limits: limitsOf({ ...told, slots, asked: asked.now(), trouble: started.queueTrouble() }),
      } satisfies LiveRun)
    }
    undo.push(bus.serve(subjectsOf(run).call('actors'), null, tellActors))
    const fenced = replica ? Promise.race([fence.lost, replica.lost]) : fence.lost
    return { service: started, watch, fenced, refusal: fence.refusal, close }
  } catch (error) {
    await close()
    throw error
  }
}

function replicaOf(log: EventLog, bus: Bus, epoch: number, platform: Platform): Promise<Replica> {
  if (log.parent !== null)
    throw new RlError(`run '${log.run}' is a fork, and other hosts have no log of its parent`, {
      code: 'head.fork-not-replicated',
      hint: 'a fork has one head: --set run.replicas=1',
    })
  return openReplica({ log, records: recordsOf(bus, log.run), epoch, platform })
}

/** Returns the places of hosts that are aside. None is, if no other host is there to take its work. */
function asideNow(
  aside: ReadonlyMap<string, AsideHost>,
  actors: () => readonly WatchedActor[],
): readonly string[] {
  if (aside.size === 0) return []
  const isOther = (process: string | undefined) => !aside.has(parseProcess(process)?.place ?? '')
  const isLeft = actors().some(
    ({ role, slots, stalled, process }) =>
      role === 'environment' && slots !== 0 && !stalled && isOther(process),
  )
  return isLeft ? [...aside.keys()] : []
}

/** Actors of which one answer tells: one message of the broker holds no more. */
const MOST_TOLD = 200

function toldOf(actors: readonly WatchedActor[]): readonly WatchedActor[] {
  if (actors.length <= MOST_TOLD) return actors
  const rank = ({ decider, stalled }: WatchedActor) => (stalled ? 2 : decider ? 1 : 0)
  return actors.toSorted((a, b) => rank(b) - rank(a)).slice(0, MOST_TOLD)
}

function brokerStall(since: number, now: number): NewEvent {
  const waitingFor = 'the broker to renew the hold of this head on the run'
  return { type: 'StallDetected', data: { owner: 'head', waitingFor, from: 'broker', since, deadline: now } }
}
