/** A run with simulated models on five hosts, or on seven with a cluster, each part kept alive by a supervisor of its own. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readConnection, runFolder } from '../../src/broker/connection.ts'
import { pause } from '../../src/clock.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { itemAt } from '../../src/item-at.ts'
import { ALL_PARTS } from '../../test/support/processes.ts'
import { programBelow } from './below.ts'
import {
  CLUSTER_HOSTS,
  type ClusterOptions,
  type ClusterRun,
  clusterOf,
  startBrokers,
  startStandby,
} from './cluster.ts'
import type { Host, Network, Started } from './network.ts'
import type { Bad } from './relay.ts'
import { type Supervised, supervise } from './supervised.ts'

/** A process of the run, and the role in its join file. All but the adapter have a host of their own. */
export const PARTS = {
  policy: { host: 1, join: ['policy'] },
  judge: { host: 2, join: ['reward-model'] },
  adapter: { host: 2, join: ['adapter'] },
  worker: { host: 4, join: ['environment', '--worker'] },
  // The run begins with it: the others are there by then.
  environment: { host: 3, join: ['environment'] },
} as const
export type Part = keyof typeof PARTS
export const HOSTS = 5
/** With the hosts of two more brokers. */
export const CLUSTER_SIZE = 7

/** What is otherwise from the start on. */
export type Arrangement = {
  /** Milliseconds by which a part's clock is off. */
  readonly clocks?: Partial<Record<Part, number>>
  /** Links to the head that delay or lose. */
  readonly links?: Partial<Record<Part, Bad>>
  /** Three brokers keep the log, and a standby follows. */
  readonly cluster?: boolean
  /** A process on the head's host appends events all the time, and notes what was answered. */
  readonly asker?: boolean
}

export type HostsRun = {
  readonly network: Network
  readonly head: Supervised
  /** Null: the head's own broker is alone, and nobody stands by. */
  readonly cluster: ClusterRun | null
  readonly headHost: Host
  readonly parts: Readonly<Record<Part, Supervised>>
  readonly hostOf: (part: Part) => Host
  /** The file with which a part joined. */
  readonly fileOf: (part: Part) => string
  /** The log of the standby, if there is one. */
  readonly log: () => LogReader
  readonly isComplete: () => boolean
  /** The broker's process, or null while it is away. */
  readonly broker: () => number | null
  /** Folder of the broker's streams. */
  readonly store: string
  /** Files of what was heard and answered. Witnesses are: one beside the switch, and with a cluster one on the head's host. */
  readonly told: readonly string[]
  /** Closes the log. The network ends the processes. */
  readonly close: () => void
}

export const RUN = 'e2e'
const HEAD_MS = 90_000
const CLOCK = pathToFileURL(join(import.meta.dirname, 'clock-off.mjs')).href

/**
 * Starts the run. Resolves when all parts have joined.
 * @param root folder for files beside the hosts' own
 * @throws Error if a part does not start, with what it printed
 */
export async function startHostsRun(
  network: Network,
  root: string,
  settings: readonly string[],
  { clocks = {}, links = {}, cluster: isCluster = false, asker = false }: Arrangement,
): Promise<HostsRun> {
  const headHost = hostAt(network, 0)
  const folder = runFolder(RUN, headHost.runs)
  let reader: LogReader | null = null
  // The copy of a standby is the log to look at: it outlives the head.
  const logFile = isCluster ? runFolder(RUN, itemAt(network.hosts, CLUSTER_HOSTS[0]).runs).log : folder.log
  const log = () => (reader ??= openLogReader(logFile))
  const isComplete = () => existsSync(logFile) && log().positionOf('key', 'RunCompleted') !== null
  const isOver = () => network.isClosed() || isComplete()
  const words = ['src/main.ts', '--role', 'head', '--run', RUN, '--no-ui', '--roles', 'none']
  const head = supervise({
    name: 'head',
    host: headHost,
    isOver,
    words: () => [
      ...words,
      '--cluster',
      isCluster ? clusterOf(network, headHost) : headHost.address,
      ...(existsSync(folder.log) ? [] : [...ALL_PARTS, ...settings.flatMap((setting) => ['--set', setting])]),
    ],
  })
  const options: ClusterOptions = { network, run: RUN, root, head, headHost, isOver }
  const brokers = isCluster ? await startBrokers(options) : []
  await until(HEAD_MS, () => existsSync(folder.connection), 'the head does not start', head.output)
  const fileOf = (part: Part) => join(root, `${part}.join`)
  let cluster: ClusterRun | null = null
  const told = [join(root, 'told')]
  const see = ['scripts/e2e/witness.ts', RUN]
  const witnesses: Started[] = []
  if (isCluster) {
    const file = join(root, 'standby.join')
    await done(headHost.start(['src/rl.ts', 'join', RUN, '--role', 'head', '-o', file]))
    cluster = await startStandby(options, brokers, file)
    told.push(join(root, 'told-at-head'))
    witnesses.push(network.startAtSwitch([...see, itemAt(told, 0), file]))
    witnesses.push(headHost.start([...see, itemAt(told, 1)]))
  } else witnesses.push(network.startAtSwitch([...see, itemAt(told, 0)], { RL_RUNS: headHost.runs }))
  const parts: Partial<Record<Part, Supervised>> = {}
  for (const [name, { host: number, join: roles }] of entriesOf(PARTS)) {
    const host = hostAt(network, number)
    const bad = links[name]
    if (bad) await startRelay(network, host, headHost, join(root, `${name}.sock`), bad)
    const file = fileOf(name)
    if (name === 'environment') {
      const started = () => existsSync(logFile) && log().countOf('ActorStarted') >= Object.keys(parts).length
      await until(HEAD_MS, started, 'a part does not join', () => outputOf(Object.values(parts)))
    }
    await done(headHost.start(['src/rl.ts', 'join', RUN, '--role', ...roles, '-o', file]))
    parts[name] = supervise({
      name,
      host,
      isOver,
      words: () => ['src/main.ts', '--join', file],
      env: clocks[name] === undefined ? {} : clockOff(clocks[name]),
    })
  }
  if (asker) {
    const answered = join(root, 'answered')
    told.push(answered)
    witnesses.push(headHost.start(['scripts/e2e/asker.ts', RUN, answered]))
  }
  for (const { output } of witnesses)
    await until(HEAD_MS, () => output().includes('listening'), 'the witness', output)
  return {
    network,
    head,
    headHost,
    cluster,
    parts: parts as Record<Part, Supervised>,
    fileOf,
    hostOf: (part) => hostAt(network, PARTS[part].host),
    log,
    isComplete,
    broker() {
      const pid = head.pid()
      return pid === null ? null : programBelow(pid, 'nats-server')
    },
    store: join(folder.broker, 'store'),
    told,
    close: () => reader?.close(),
  }
}

function outputOf(parts: readonly Supervised[]): string {
  return parts.map(({ name, output }) => `${name}: ${output()}`).join('\n')
}

/** The host reaches the head by two relays: the one at the host takes its connections, the one at the switch goes on to the head. */
async function startRelay(network: Network, host: Host, head: Host, socket: string, bad: Bad): Promise<void> {
  const port = new URL(urlOf(head)).port
  const target = `${head.address}:${port}`
  host.claim(head.address)
  const script = 'scripts/e2e/relay.ts'
  const words = ['--delay-ms', String(bad.delayMs), '--loss', String(bad.loss)]
  const relays = [
    network.startAtSwitch([script, '--listen', socket, '--to', target, ...words]),
    host.start([script, '--listen', target, '--to', socket]),
  ]
  for (const { output } of relays)
    await until(HEAD_MS, () => output().includes('listening'), 'the relay does not start', output)
}

function urlOf(head: Host): string {
  const connection = readConnection(runFolder(RUN, head.runs).connection)
  if (connection === null) throw new Error('the head has left no address')
  return connection.url
}

function clockOff(offMs: number): NodeJS.ProcessEnv {
  return {
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${CLOCK}`,
    RL_E2E_CLOCK_MS: String(offMs),
  }
}

async function done({ status, output }: Started): Promise<void> {
  const end = await status
  if (end !== 0) throw new Error(`a command ended with ${end}: ${output()}`)
}

async function until(ms: number, isTrue: () => boolean, what: string, output: () => string): Promise<void> {
  const late = performance.now() + ms
  while (!isTrue()) {
    if (performance.now() > late) throw new Error(`${what}: ${output()}`)
    await pause(50)
  }
}

function hostAt({ hosts }: Network, index: number): Host {
  return itemAt(hosts, index)
}

function entriesOf<K extends string, V>(record: Readonly<Record<K, V>>): readonly [K, V][] {
  return Object.entries(record) as [K, V][]
}
