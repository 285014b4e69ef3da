/** What the processes of a run do from their start to their end: as `start.ts` and `head/start.ts` have it, over simulated ports. */
import { configsOf } from '../../src/actors/configs.ts'
import { deciderOf } from '../../src/actors/deciders.ts'
import type { HeadContext } from '../../src/actors/head/iterations.ts'
import { headDecider } from '../../src/actors/head/machine.ts'
import { serveRun } from '../../src/actors/head/serve-run.ts'
import { standBy } from '../../src/actors/head/standby.ts'
import { awaitedBy } from '../../src/actors/head/waits.ts'
import { lastAttempt } from '../../src/actors/last-attempt.ts'
import { type Actor, startActor } from '../../src/actors/runtime/actor.ts'
import { openKeyFrames } from '../../src/actors/runtime/key-frame.ts'
import { ROLLOUT_WORK } from '../../src/actors/runtime/work.ts'
import type { JobContext, Worker } from '../../src/actors/runtime/worker.ts'
import { simulatedWorker } from '../../src/actors/simulated/workers.ts'
import type { RunFolder } from '../../src/broker/connection.ts'
import { type Config, configDigest, loggable } from '../../src/config.ts'
import type { Bus } from '../../src/events/bus.ts'
import type { NewEvent } from '../../src/events/catalogue.ts'
import type { Role } from '../../src/events/envelope.ts'
import type { EventLog } from '../../src/events/log.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { subscribe } from '../../src/events/subscription.ts'
import type { User } from '../../src/events/users.ts'
import type { Process } from './process.ts'

export const RUN = 'simulated'
const ADDRESS = { url: 'simulated' }

/** What a life is given by the world, and tells it. */
export type Surroundings = {
  readonly process: Process
  readonly config: Config
  readonly connect: (user: User, link: string) => Promise<Bus>
  /** Resolves when the process is asked to end. */
  readonly asked: Promise<void>
  readonly onActor: (actor: Actor) => void
  /** Where the process keeps the key frames of its decider. */
  readonly folder: RunFolder
}

/** Few positions, so that most starts go on from a key frame. */
const FRAME_EVERY = 50

/** How a head's life ended of its own accord. */
export type HeadEnd = 'asked' | 'paused' | 'failed'
/** A role ends by itself once the head says that the run is over. */
export type RoleEnd = 'asked' | 'over'

export async function headLife(
  { process, config, connect, asked, onActor, folder }: Surroundings,
  {
    log,
    alone,
    replicated,
    silent,
    onServing,
    onCompleted,
  }: {
    readonly log: EventLog
    readonly alone: boolean
    readonly replicated: boolean
    /** Revision of an earlier head's record that this process saw in silence as a standby. */
    readonly silent?: number
    readonly onServing: (served: Awaited<ReturnType<typeof serveRun>>) => void
    readonly onCompleted: () => void
  },
): Promise<HeadEnd> {
  const { platform } = process
  const heartbeatMs = config.run.expert.heartbeatSeconds * 1000
  const bus = await connect('head', 'head-log')
  const served = await serveRun({
    ...{ log, bus, work: [ROLLOUT_WORK], heartbeatMs, alone, replicated, silent, measured, platform },
  })
  try {
    onServing(served)
    const [begun] = served.service.append([firstEvent(config, log.head().position > 0)])
    let settle: (end: HeadEnd) => void = () => {}
    const over = new Promise<HeadEnd>((resolve) => {
      settle = resolve
    })
    const view = await subscribe({ bus, run: RUN, platform }, (event) => {
      if (event.type === 'RunCompleted') onCompleted()
      if (event.position < begun.position) return
      if (event.type === 'WorkFailed' && !event.data.goesOn) settle('paused')
      if (event.type === 'RunFailed') settle('failed')
    })
    const decider = headDecider(config)
    const head = await startActor({
      role: 'head',
      run: RUN,
      address: ADDRESS,
      decider,
      frames: await openKeyFrames({
        ...{ folder, decider, configs: [config, config], every: FRAME_EVERY },
        hashAt: log.hashAt,
      }),
      worker: { jobs: {} },
      heartbeatMs,
      waits: (context) => awaitedBy(context as HeadContext, config),
      platform,
      connect: () => connect('head', 'head-actor'),
    })
    onActor(head)
    const end = await Promise.race([
      over,
      asked.then((): HeadEnd => 'asked'),
      fails(head.done),
      fails(view.done),
      served.fenced.then((error) => Promise.reject(error)),
    ])
    if (end === 'paused')
      served.service.append([{ type: 'RunPaused', data: { reason: 'work failed for good' } }], {
        urgent: true,
      })
    await head.stop()
    await view.stop()
    return end
  } finally {
    await served.close()
    await bus.close()
  }
}

/** A standby follows another head until it is gone. Returns the revision of that head's record, or null if it is not needed. */
export async function standbyLife(
  { process, connect, asked }: Surroundings,
  folder: RunFolder,
  open: () => EventLog,
): Promise<number | null> {
  const bus = await connect('head', 'head-standby')
  const stopped = new AbortController()
  void asked.then(() => stopped.abort(new Error('asked to end')))
  try {
    const end = await standBy({
      ...{ bus, folder, open, signal: stopped.signal, say: () => {}, platform: process.platform },
    })
    return end.kind === 'take' ? end.silent : null
  } catch (error) {
    if (stopped.signal.aborted) return null
    throw error
  } finally {
    await bus.close()
  }
}

const measured = () => ({ brokerRestarts: 0, loopDelay: { p99Ms: 0, maxMs: 0 } })

function firstEvent(config: Config, resumed: boolean): NewEvent {
  if (resumed) return { type: 'RunResumed', data: { reason: 'the head was started again' } }
  return {
    type: 'RunStarted',
    data: {
      config: loggable(config),
      configDigest: configDigest(config),
      seed: config.run.seed,
      parent: null,
      codeVersion: 'simulated',
    },
  }
}

/** Never resolves: only a failure counts as an end. */
function fails(done: Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => {
    done.catch(reject)
  })
}

/** Rollouts that a process has in hand: the same on every machine, so that a seed is one world. */
const SLOTS = 64

/** Work of the simulated learner that takes its time; `troubled` makes it throw, hang or be slow. */
export type Trouble = (kind: string, clock: Process['platform']['clock']) => Promise<void>

export async function roleLife(
  { process, connect, asked, onActor, folder }: Surroundings,
  { role, further, trouble }: { readonly role: Role; readonly further: boolean; readonly trouble: Trouble },
): Promise<RoleEnd> {
  const { platform } = process
  const user: User = further ? (`${role}-worker` as User) : role
  const bus = await connect(user, `${process.name}-worker`)
  const log = connectLog({ bus, run: RUN, actor: role, platform })
  try {
    const { first, config } = await configsOf(log, platform.clock)
    const decider = further ? undefined : deciderOf(role, first)
    const frames =
      decider &&
      (await openKeyFrames({
        ...{ folder, decider, configs: [first, config], every: FRAME_EVERY },
        hashAt: async (position) => (await log.read({ from: position + 1, until: position, limit: 1 })).hash,
      }))
    const actor = await startActor({
      role,
      run: RUN,
      address: ADDRESS,
      worker: troubled(simulatedWorker(role, config, log, SLOTS), trouble, platform.clock),
      decider,
      frames,
      heartbeatMs: config.run.expert.heartbeatSeconds * 1000,
      attempts: config.run.expert.attempts,
      giveUp: lastAttempt(config.adaptation),
      elsewhere: { say: () => {} },
      platform,
      connect: () => connect(user, `${process.name}-actor`),
    })
    onActor(actor)
    try {
      return await Promise.race([actor.done.then((): RoleEnd => 'over'), asked.then((): RoleEnd => 'asked')])
    } finally {
      await actor.stop()
    }
  } finally {
    log.close()
    await bus.close()
  }
}

/** Judging and rewriting are shared among a role's processes, as by the real workers. */
function troubled(worker: Worker, trouble: Trouble, clock: Process['platform']['clock']): Worker {
  return {
    ...worker,
    concurrency: 4,
    queues: worker.queues?.map((queue) => ({ ...queue, concurrency: 3 })),
    shared: new Set(['judge', 'rewrite']),
    jobs: Object.fromEntries(
      Object.entries(worker.jobs).map(([kind, perform]) => [
        kind,
        async (input: never, context: JobContext) => {
          await trouble(kind, clock)
          return perform(input, context)
        },
      ]),
    ),
  }
}
