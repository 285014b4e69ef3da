import { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import {
  addressFromEnvironment,
  readConnection,
  readCredentials,
  runFolder,
  toolAddress,
} from '../broker/connection.ts'
import type { Config } from '../config.ts'
import { openSetting } from '../environments/open.ts'
import type { OpenSetting } from '../environments/setting.ts'
import { loadSetting } from '../environments/settings.ts'
import { RlError } from '../errors.ts'
import type { Bus, BusAddress } from '../events/bus.ts'
import type { Role } from '../events/envelope.ts'
import { connectLog, type LogClient } from '../events/log-client.ts'
import { connectBus, connectPatiently } from '../events/nats/connect.ts'
import { type User, workerOf } from '../events/users.ts'
import { providerOf } from '../models/registry.ts'
import { giveSigns } from '../platform/signs-of-life.ts'
import { loadAllUserParts, loadUserParts } from '../user-parts.ts'
import { isApart, isChild } from './apart.ts'
import { configsOf } from './configs.ts'
import { deciderOf } from './deciders.ts'
import { rolloutsAtATime } from './environment/rollouts-at-a-time.ts'
import type { Playing } from './environment/worker.ts'
import { type OpenElsewhere, openElsewhere } from './executing/elsewhere.ts'
import { executorsOf, openExecutor } from './executing/worker.ts'
import { checkParts, withFilesOf } from './host-files.ts'
import { checkJoined, joinedAddress } from './joined.ts'
import { lastAttempt } from './last-attempt.ts'
import { startActor } from './runtime/actor.ts'
import { watchHeld } from './runtime/held.ts'
import { type KeyFramesOptions, openKeyFrames } from './runtime/key-frame.ts'
import { logUserFaults, nameUncaught } from './runtime/log-user-faults.ts'
import { openPulse } from './runtime/pulse.ts'
import { knowKeys } from './runtime/redact.ts'
import type { OpenedWorker } from './runtime/worker.ts'
import type { StartOptions } from './start-options.ts'

/**
 * V8 lets a heap grow to several times what lives in it before it collects. Processes that hold models may grow by 20 %: half a
 * GiB less for about a tenth of their time. Players of episodes, whose small heaps are full of garbage, would pay a third.
 */
const SMALL_HEAP = ['--heap-growing-percent=20', '--max-semi-space-size=8']

export async function startRole(options: StartOptions): Promise<number> {
  const { role, run, nats, join, worker: further, executor } = options
  if (run === null)
    throw new RlError(`--role ${role} needs --run`, { code: 'cli.usage', hint: 'rl runs lists them' })
  const { ended, hurry } = endSignals()
  giveSigns(runFolder(run).alive, executor ? 'executor' : role)
  logUserFaults()
  nameUncaught()
  // A V8 that no longer knows a flag goes on without it.
  if (role === 'policy' || role === 'reward-model') for (const flag of SMALL_HEAP) setFlagsFromString(flag)
  const address = join === null ? addressOf(run, nats, further ? workerOf(role) : role) : joinedAddress(join)
  const connect = isChild() ? connectPatiently : connectBus
  const bus = await connect({ ...address, name: `${role}-worker` })
  const log = connectLog({ bus, run, actor: role, apart: isApart(run, bus.url) })
  // Whatever fails, no connection may keep the process: the head starts a new one when it has ended.
  try {
    const { config, worker, note, decider, frames } = await unlessClosed(
      bus,
      openParts(options, run, bus, log),
    )
    const heartbeatMs = config.run.expert.heartbeatSeconds * 1000
    const actor = await startActor({
      role,
      run,
      address,
      connect,
      worker,
      note: [note, frames?.note].filter(Boolean).join('; '),
      decider,
      frames,
      heartbeatMs,
      openPulse: (subject) => openPulse({ address, subject, everyMs: heartbeatMs }),
      attempts: config.run.expert.attempts,
      giveUp: lastAttempt(config.adaptation),
      // The pipe tells a child of the head when the head ends. The child waits while a broker cannot be started.
      ...(isChild() ? { headGoneMs: Number.POSITIVE_INFINITY } : { elsewhere: { say: sayLine } }),
    })
    try {
      const end = await Promise.race([actor.done, ended])
      if (end === 'finish') {
        sayLine(`no new work; the work in hand has ${options.graceSeconds} s to end`)
        await Promise.race([actor.drain(1000 * options.graceSeconds), hurry])
      }
      return 0
    } finally {
      await actor.stop()
    }
  } finally {
    log.close()
    await bus.close()
  }
}

/** Opens what a role needs before it acts, by the config that the log names. */
async function openParts(options: StartOptions, run: string, bus: Bus, log: LogClient) {
  const { role, join, worker: further, executor } = options
  if (join !== null) {
    await checkJoined(log, join, options.anyCode)
    process.stdout.write(`joined run ${run} as ${role} at ${bus.url}\n`)
  }
  const logged = await configsOf(log)
  const { first } = logged
  knowKeys(logged.config)
  const onOwnDisk = log.apart && !isChild()
  const config = onOwnDisk ? await withFilesOf(log, logged.config) : logged.config
  await loadUserParts(first)
  const own = await loadAllUserParts(config)
  if (onOwnDisk) await checkParts(log, own)
  const { silenceSeconds } = config.run.deadlines.expert
  if (config.environment.module !== null || own.length > 0) watchHeld(500 * silenceSeconds)
  const { worker, note } = await (executor ? openExecutor(config, log) : openWorker(role, config, log))
  const decider = further ? undefined : deciderOf(role, first)
  const frames = decider && (await openKeyFrames({ ...framesBeside(log), decider, configs: [first, config] }))
  return { config, worker, note, decider, frames }
}

/** Frames lie in the run's folder of this host, whether the log does or not. */
function framesBeside(log: LogClient): Pick<KeyFramesOptions, 'folder' | 'hashAt'> {
  return {
    folder: runFolder(log.run),
    hashAt: async (position) => (await log.read({ from: position + 1, until: position, limit: 1 })).hash,
  }
}

/**
 * Returns the address that the command line and the environment name. On the head's own machine the run's folder knows
 * the rest. Each user has its own credentials on a broker that the head started.
 */
export function addressOf(run: string, nats: string | null, user: User): BusAddress {
  const folder = runFolder(run)
  const known = readConnection(folder.connection)
  const url = nats ?? known?.url
  if (url === undefined)
    throw new RlError(`no head of run '${run}' was found on this machine`, {
      code: 'cli.usage',
      hint: 'give its --nats address, and NATS_TOKEN, or NATS_USER and NATS_PASSWORD',
    })
  const given = addressFromEnvironment(url)
  if (given.token !== undefined || given.password !== undefined || known?.url !== url) return given
  return { ...given, ...(readCredentials(folder, user) ?? toolAddress(known)) }
}

/** A host whose right ends before it works would wait for an answer for ever. */
function unlessClosed<T>(bus: Bus, work: Promise<T>): Promise<T> {
  const closed = bus.closed.then((reason) =>
    reason === null ? new Promise<never>(() => {}) : Promise.reject(reason),
  )
  return Promise.race([work, closed])
}

function sayLine(line: string): void {
  process.stderr.write(`rlanything: ${line}\n`)
}

type EndSignals = {
  /** Resolves when this process should end: with its work finished, or at once. */
  readonly ended: Promise<'finish' | 'at once'>
  /** Resolves when a second signal comes. */
  readonly hurry: Promise<void>
}

/**
 * A process of a head ends when the head does, or at its word, and gives its work back. Others finish their work on SIGTERM, unless
 * another signal follows.
 */
function endSignals(): EndSignals {
  let signals = 0
  let end: (how: 'finish' | 'at once') => void = () => {}
  let hurryUp = () => {}
  const ended = new Promise<'finish' | 'at once'>((resolve) => {
    end = resolve
  })
  const hurry = new Promise<void>((resolve) => {
    hurryUp = resolve
  })
  const hear = (how: 'finish' | 'at once') => () => {
    if (++signals === 1) end(how)
    else hurryUp()
  }
  process.on('SIGTERM', hear(isChild() ? 'at once' : 'finish'))
  if (!isChild()) process.on('SIGINT', hear('at once'))
  else {
    // Ctrl-C in a terminal reaches all its processes: the head then stops this one in good order.
    process.on('SIGINT', () => {})
    process.stdin.on('end', () => process.exit(0)).resume()
    // The pipe alone keeps no process alive. Else a failed process would hang, and no other would be started.
    if (process.stdin instanceof Socket) process.stdin.unref()
  }
  return { ended, hurry }
}

/** Loads only what a role needs: a process that plays episodes holds no tensors. */
async function openWorker(role: Role, config: Config, log: LogClient): Promise<OpenedWorker> {
  const { simulated } = await loadSetting(config.environment)
  if (simulated) {
    const { simulatedWorker } = await import('./simulated/workers.ts')
    return { worker: simulatedWorker(role, config, log, playingOf(config).slots), note: 'simulated' }
  }
  const elsewhere = await executorsFor(role, config, log)
  const opened = await openSetting(config, elsewhere)
  const { worker, note } = await openWorkerOn(opened, role, config, log)
  return {
    note,
    worker: {
      ...worker,
      async close() {
        await worker.close?.()
        await opened.environment.close?.()
        elsewhere?.close()
      },
    },
  }
}

/** Opens the run's executors, for the roles that run actions, if the setting has any. */
async function executorsFor(role: Role, config: Config, log: LogClient): Promise<OpenElsewhere | undefined> {
  const { rolloutSeconds, scoringSeconds } = config.run.deadlines
  const seconds = role === 'environment' ? rolloutSeconds : role === 'reward-model' ? scoringSeconds : null
  if (seconds === null || (await executorsOf(config.environment)) === null) return undefined
  return openElsewhere(log, seconds * 1000)
}

async function openWorkerOn(
  opened: OpenSetting,
  role: Role,
  config: Config,
  log: LogClient,
): Promise<OpenedWorker> {
  const { run, adaptation } = config
  switch (role) {
    case 'environment': {
      const { environmentWorker } = await import('./environment/worker.ts')
      const worker = environmentWorker(run, playingOf(config), opened, log)
      const { name } = opened.setting
      if (config.environment.player === 'own') {
        const runtime = await opened.setting.runtime?.(opened.environment)
        return { worker, note: runtime === undefined ? name : `${name}, ${runtime}` }
      }
      return { worker: { ...worker, queues: [] }, note: `${name}, played through the gateway` }
    }
    case 'adapter': {
      const { adapterWorker } = await import('./adapter/worker.ts')
      const provider = providerOf(adaptation, config)
      const worker = await adapterWorker(adaptation, provider, run.deadlines, opened, log)
      return { worker, note: adaptation.rewriter }
    }
    case 'policy': {
      const { openPolicyWorker } = await import('./policy/worker.ts')
      return openPolicyWorker(config, opened, log)
    }
    case 'reward-model': {
      const { openRewardModelWorker } = await import('./reward-model/worker.ts')
      return openRewardModelWorker(config, opened, log)
    }
    case 'head':
      throw new RlError('the head has no worker of its own', { code: 'cli.usage' })
  }
}

/** On the head's machine its processes share the cores. */
function playingOf(config: Config): Playing {
  const processes = isChild() ? config.run.workers.environment : 1
  const { reference, traces } = config.environment
  return {
    looks: looksOn(config),
    slots: rolloutsAtATime(config, { processes }),
    ...(reference ? { reference } : {}),
    ...(traces ? { traces: traces.file } : {}),
  }
}

/** Whether anybody looks at the screens of a run's rollouts. */
function looksOn({ environment, policy, rewardModel }: Config): boolean {
  return environment.frames || policy.frames > 0 || (rewardModel.frames && rewardModel.mode !== 'off')
}
