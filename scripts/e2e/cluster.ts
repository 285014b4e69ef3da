/** The brokers of a run on three hosts, and the standby of its head. */
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { runFolder } from '../../src/broker/connection.ts'
import { pause } from '../../src/clock.ts'
import { itemAt } from '../../src/item-at.ts'
import { programBelow } from './below.ts'
import type { Host, Network } from './network.ts'
import { type Supervised, supervise } from './supervised.ts'

/** Hosts of the further brokers. The first one has the standby too. */
export const CLUSTER_HOSTS = [5, 6] as const

export type ClusterRun = {
  readonly standby: Supervised
  readonly standbyHost: Host
  /** Processes of the brokers at the hosts of `CLUSTER_HOSTS`. */
  readonly brokers: readonly Supervised[]
  /** Number of the broker that leads the stream of records. The head's own is 0. */
  readonly leader: () => Promise<number>
  /** Lets the brokers choose until the head's own broker leads that stream, or until it does not. */
  readonly lead: (byHead: boolean) => Promise<void>
  /** SIGKILL of a broker. Who started it starts it again. */
  readonly killBroker: (number: number) => void
}

export type ClusterOptions = {
  readonly network: Network
  readonly run: string
  readonly root: string
  readonly head: Supervised
  readonly headHost: Host
  readonly isOver: () => boolean
}

const WAIT_MS = 90_000
const CHOICES = 20

/** Addresses for `--cluster`: the head's own comes first. */
export function clusterOf({ hosts }: Network, head: Host): string {
  return [head, ...CLUSTER_HOSTS.map((number) => itemAt(hosts, number))]
    .map(({ address }) => address)
    .join(',')
}

/** Starts the further brokers by the files that the head writes for them. */
export async function startBrokers(options: ClusterOptions): Promise<readonly Supervised[]> {
  const { network, run, root, head, headHost, isOver } = options
  const brokers: Supervised[] = []
  for (const number of CLUSTER_HOSTS) {
    const host = itemAt(network.hosts, number)
    const name = `${host.address}.broker`
    const written = join(runFolder(run, headHost.runs).folder, name)
    await until(() => existsSync(written), `the head writes no ${name}`, head.output)
    const file = join(root, name)
    copyFileSync(written, file)
    const words = () => ['src/main.ts', '--join', file]
    brokers.push(supervise({ name: `broker-${brokers.length + 1}`, host, isOver, words }))
  }
  return brokers
}

/**
 * Starts the standby. Resolves when it has a copy of the log.
 * @param file with which it joins
 */
export async function startStandby(
  { network, run, head, isOver }: ClusterOptions,
  brokers: readonly Supervised[],
  file: string,
): Promise<ClusterRun> {
  const standbyHost = itemAt(network.hosts, CLUSTER_HOSTS[0])
  const words = () => ['src/main.ts', '--join', file]
  const standby = supervise({ name: 'standby', host: standbyHost, isOver, words })
  const { log } = runFolder(run, standbyHost.runs)
  await until(
    () => existsSync(log) && standby.output().includes('standby of run'),
    'the standby',
    standby.output,
  )

  async function ask(what: 'leader' | 'step-down'): Promise<string> {
    const asked = network.startAtSwitch(['scripts/e2e/stream.ts', run, file, what])
    if ((await asked.status) !== 0) throw new Error(`the stream does not answer: ${asked.output()}`)
    return asked.output().trim()
  }

  async function leader(): Promise<number> {
    const name = await ask('leader')
    const number = Number(name.slice(name.lastIndexOf('-') + 1))
    if (Number.isInteger(number)) return number
    throw new Error(`'${name}' leads the stream`)
  }

  return {
    standby,
    standbyHost,
    brokers,
    leader,
    async lead(byHead) {
      for (let choice = 0; choice < CHOICES; choice++) {
        if (((await leader()) === 0) === byHead) return
        await ask('step-down')
      }
      throw new Error(`the brokers do not choose ${byHead ? '' : 'another than '}the head's own`)
    },
    killBroker(number) {
      const pid = (number === 0 ? head : itemAt(brokers, number - 1)).pid()
      const server = pid === null ? null : programBelow(pid, 'nats-server')
      if (server === null) throw new Error(`broker ${number} does not run`)
      process.kill(server, 'SIGKILL')
    },
  }
}

/** @throws Error if it takes too long, with what was printed */
async function until(isTrue: () => boolean, what: string, output: () => string): Promise<void> {
  const late = performance.now() + WAIT_MS
  while (!isTrue()) {
    if (performance.now() > late) throw new Error(`${what}: ${output()}`)
    await pause(50)
  }
}
