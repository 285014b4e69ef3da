/** Parts of a head beside its decider: broker, log, log service and watch, started and stopped in order. */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type Broker, type BrokerOptions, startBroker } from '../../broker/broker.ts'
import {
  type RunFolder,
  readCredentials,
  removeConnection,
  writeConnection,
  writeCredentials,
} from '../../broker/connection.ts'
import { type JoinFile, readJoins } from '../../broker/joins.ts'
import { membersOf, writeMembers } from '../../broker/members.ts'
import { takeRunFolder } from '../../broker/own-folder.ts'
import { RlError } from '../../errors.ts'
import type { Bus, BusAddress, WorkQueue } from '../../events/bus.ts'
import { PAGES_BETWEEN_CHECKPOINTS, startCheckpoints } from '../../events/checkpoints.ts'
import { type EventLog, openLog } from '../../events/log.ts'
import { refuseLostRun } from '../../events/lost-log.ts'
import { type BusOptions, connectBus, connectPatiently, parseAddress } from '../../events/nats/connect.ts'
import { USERS, type User } from '../../events/users.ts'
import { itemAt } from '../../item-at.ts'
import { processText, THIS_PROCESS } from '../../platform/process-id.ts'
import { HEARTBEAT_MS } from '../runtime/actor.ts'
import type { WorkKind } from '../runtime/work.ts'
import { awaitMembers, keepKeys, shareJoins } from './cluster.ts'
import type { LogService } from './log-service.ts'
import { watchLoop } from './loop-delay.ts'
import { serveRun } from './serve-run.ts'
import type { Watch } from './watch.ts'

export type HeadCore = {
  readonly log: EventLog
  readonly service: LogService
  readonly watch: Watch
  readonly bus: Bus
  /** The broker that this head started, or null if it joined one. */
  readonly broker: Broker | null
  /** The head's own. */
  readonly address: BusAddress
  /** Connects the head to the broker. It waits for a broker of its own. */
  readonly connect: (options: BusOptions) => Promise<Bus>
  /** Resolves when another head has taken the run, or the log's file was removed: this head may write no more. */
  readonly fenced: Promise<RlError>
  /** Returns why this head may not speak for the run now, or null. */
  readonly refusal: () => RlError | null
  /** Ends in good order. `next` names a standby that takes the run at once. */
  readonly close: (next?: string) => Promise<void>
}

export type HeadCoreOptions = {
  readonly folder: RunFolder
  /** Address of a broker to join. Without it the head starts one. */
  readonly nats?: BusAddress
  /** Address of this machine at which a broker of the head's own waits for other hosts. */
  readonly cluster?: string
  /** Address, `HOST:PORT`, at which a broker of the head's own that is alone tells its figures. */
  readonly monitor?: string
  /** The file by which this host joined the run. */
  readonly join?: JoinFile
  /** Number of brokers that keep the log and the queues. */
  readonly replicas?: number
  /** Revision of an earlier head's record that a standby saw in silence for a lease. */
  readonly silent?: number
  readonly work: readonly WorkKind[]
  /** Queues of other work, e.g. of executors. */
  readonly queues?: readonly WorkQueue[]
  /** Whether work that is late on one host is given to a second one. */
  readonly copies?: boolean
  readonly heartbeatMs?: number
  readonly minFreeBytes?: number
  /** Measures the free disk. For tests. */
  readonly freeBytes?: () => number
  /** Time for which a silent head keeps the run, and time between its renewals. For tests. */
  readonly fenceTimes?: { readonly leaseMs: number; readonly renewMs: number }
  readonly onBrokerRestart?: (reason: string) => void
}

/**
 * Takes the log, so a second head on this file fails here with `log.locked`. Then it starts or joins the broker and
 * takes the run there. So a head on another host fails with `head.second`. Then it serves. A broker returns with its
 * old port and token, so actors that outlived the head find it again.
 */
export async function startHeadCore(options: HeadCoreOptions): Promise<HeadCore> {
  const { folder, nats, cluster, work, queues, heartbeatMs = HEARTBEAT_MS } = options
  const { minFreeBytes, freeBytes, fenceTimes, onBrokerRestart: say = () => {}, replicas = 1 } = options
  refuseLostRun(folder.log)
  takeRunFolder(folder.folder)
  const log = openLog(folder.log, {
    run: folder.run,
    minFreeBytes,
    freeBytes,
    checkpointPages: PAGES_BETWEEN_CHECKPOINTS,
  })
  if (log.damage) {
    log.close()
    throw log.damage
  }
  const undo: ((next?: string) => Promise<void> | void)[] = [log.close, startCheckpoints(folder.log)]
  async function close(next?: string): Promise<void> {
    for (const step of undo.splice(0).reverse()) await step(next)
  }
  try {
    const broker = nats
      ? null
      : await startBroker({
          folder: folder.broker,
          run: folder.run,
          ...brokerBefore(folder),
          ...(await clusterPlace(folder, cluster)),
          ...(options.monitor ? { monitor: itemAt(membersOf(options.monitor), 0) } : {}),
          onRestart: say,
        })
    if (broker) undo.push(broker.stop)
    const members = cluster?.includes(',') ? membersOf(cluster) : []
    if (replicas > 1 && broker && members.length < replicas) throw tooFewBrokers(folder.run, replicas)
    const address = broker ? broker.addressOf('head') : (nats as BusAddress)
    const connect = broker ? connectPatiently : connectBus
    const bus = await connect({ ...address, name: `rl-${folder.run}-log`, replicas })
    undo.push(bus.close)
    if (members.length > 0) await awaitMembers(bus, folder, members, say)
    if (replicas > 1) undo.push(shareJoins(bus, folder))
    const loop = watchLoop()
    undo.push(loop.stop)
    const {
      service,
      watch,
      fenced,
      refusal,
      close: leave,
    } = await serveRun({
      log,
      bus,
      work,
      queues,
      copies: options.copies,
      heartbeatMs,
      alone: broker !== null && replicas === 1,
      replicated: replicas > 1,
      silent: options.silent,
      fenceTimes,
      reviveBroker: broker?.restart,
      measured: () => ({ brokerRestarts: broker?.restarts() ?? 0, loopDelay: loop.delay() }),
    })
    undo.push(leave)
    const place = watchPlace(log)
    undo.push(place.stop)
    const kept = options.join && keepKeys(folder, options.join)
    if (broker) for (const user of USERS) writeCredentials(folder, user, broker.addressOf(user))
    const { server, login } = parseAddress(broker ? broker.addressOf('tool') : address)
    writeConnection(folder.connection, {
      run: folder.run,
      url: server,
      servers: members.length > 0 ? members.map(({ host, port }) => `tls://${host}:${port}`) : undefined,
      token: login.token ?? null,
      user: login.user ?? (kept ? 'tool' : null),
      password: login.pass ?? null,
      nkey: kept?.nkey,
      ca: broker?.addressOf('tool').ca ?? kept?.ca,
      pid: process.pid,
      process: processText(THIS_PROCESS),
      host: hostname(),
      since: Date.now(),
    })
    undo.push(() => removeConnection(folder.connection))
    return {
      log,
      service,
      watch,
      bus,
      broker,
      address,
      connect,
      fenced: Promise.race([fenced, place.gone]),
      refusal,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Certificates are loaded for this alone: most runs stay on one machine. */
async function clusterPlace(
  folder: RunFolder,
  cluster: string | undefined,
): Promise<Pick<BrokerOptions, 'place' | 'joins'>> {
  if (cluster === undefined) return {}
  const { certificatesFor } = await import('../../broker/certificates.ts')
  const members = cluster.includes(',') ? membersOf(cluster) : []
  const { host, port } = members[0] ?? aloneAt(cluster)
  const tls = join(folder.broker, 'tls')
  const certificates = await certificatesFor(host, tls)
  await writeMembers(folder, members, async (member, index) => {
    const files = await certificatesFor(member.host, tls, `member-${index}`)
    const read = (path: string) => readFileSync(path, 'utf8')
    return { ca: read(files.ca), certificate: read(files.certificate), key: read(files.key) }
  })
  return {
    place: { host, port, certificates, cluster: members.length > 0 ? { index: 0, members } : null },
    joins: () => readJoins(folder),
  }
}

/** Reads the address of a broker that is alone: a name, an address of either kind, or `HOST:PORT`. */
function aloneAt(cluster: string): { readonly host: string; readonly port?: number } {
  if (!/^[^:]+:\d{1,5}$/.test(cluster)) return { host: cluster }
  return itemAt(membersOf(cluster), 0)
}

function tooFewBrokers(run: string, replicas: number): RlError {
  return new RlError(`the log of run '${run}' is kept by ${replicas} brokers, and the head would start one`, {
    code: 'head.too-few-brokers',
    hint: 'name them as at its first start: --cluster A,B,C, or --nats with a list',
  })
}

const LOOK_MS = 500

/** Checks that the log's file is still in its place, even while nothing is appended. */
function watchPlace(log: EventLog): { readonly gone: Promise<RlError>; readonly stop: () => void } {
  let stop = () => {}
  const gone = new Promise<RlError>((resolve) => {
    const timer = setInterval(() => {
      const reason = log.gone()
      if (reason) resolve(reason)
    }, LOOK_MS)
    stop = () => clearInterval(timer)
  })
  return { gone, stop }
}

/**
 * Returns the port and passwords of the earlier broker. A restarted broker keeps its place and its users, so actors
 * that outlived the head connect again.
 */
function brokerBefore(folder: RunFolder): Pick<BrokerOptions, 'port' | 'passwords'> {
  const passwords: Partial<Record<User, string>> = {}
  let port: number | undefined
  for (const user of USERS) {
    const address = readCredentials(folder, user)
    if (address === null) continue
    passwords[user] = address.password
    port = Number(new URL(address.url).port)
  }
  return { port, passwords }
}
