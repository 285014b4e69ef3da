/** Faults of a run whose log three brokers keep, and whose head has a standby. */
import { pause } from '../../src/clock.ts'
import type { ClusterRun } from './cluster.ts'
import type { FaultRow } from './fault-table.ts'
import { type HostsRun, RUN } from './hosts-run.ts'

const CLUSTER = { cluster: true } as const
/** An old head that wakes must have ended by then. */
const STOPPED_MS = 30_000
/** All hosts have this name. */
const HOST_NAME = 'host'

export const CLUSTER_FAULTS: readonly FaultRow[] = [
  {
    name: 'leader-killed',
    what: 'of three brokers, the one that leads the stream of the log is killed (SIGKILL); it is started again',
    arrange: CLUSTER,
    async strike(run) {
      const { leader, killBroker } = clusterOf(run)
      killBroker(await leader())
    },
  },
  {
    name: 'head-gone',
    what: 'SIGKILL of the head for good, with its broker, which does not lead the stream; the standby goes on',
    arrange: CLUSTER,
    gone: ['head'],
    async strike(run) {
      await clusterOf(run).lead(false)
      run.head.end()
    },
  },
  {
    name: 'leader-and-head-gone',
    what: 'SIGKILL of the head for good, and of its broker, which leads the stream; the standby goes on',
    arrange: CLUSTER,
    gone: ['head'],
    async strike(run) {
      await clusterOf(run).lead(true)
      clusterOf(run).killBroker(0)
      run.head.end()
    },
  },
  {
    name: 'head-woken',
    what: 'SIGSTOP of the head for 30 s; the standby goes on, and the old head must stop when it wakes',
    arrange: CLUSTER,
    gone: ['head'],
    async strike({ head }, { seconds }) {
      head.giveUp()
      head.stop()
      // In two halves, so with --quick too it is longer than the lease.
      await seconds(15)
      await seconds(15)
      head.goOn()
      const late = performance.now() + STOPPED_MS
      while (head.pid() !== null) {
        if (performance.now() > late)
          throw new Error(`the old head does not stop: ${head.output().slice(-2_000)}`)
        await pause(50)
      }
    },
  },
  {
    name: 'head-cut-off',
    what: 'the link of the host with the head and its broker is down for good; the standby goes on; a process beside the old head asks on',
    arrange: { cluster: true, asker: true },
    gone: ['head'],
    async strike({ head, headHost }) {
      head.giveUp()
      headHost.link(false)
    },
  },
  {
    name: 'head-moved',
    what: 'rl head move gives the run to the standby; the head ends by itself, with its broker',
    arrange: CLUSTER,
    gone: ['head'],
    async strike({ head, headHost }) {
      head.giveUp()
      const moved = headHost.start(['src/rl.ts', 'head', 'move', HOST_NAME, '--run', RUN])
      const status = await moved.status
      if (status !== 0) throw new Error(`rl head move ended with ${status}: ${moved.output()}`)
    },
  },
]

function clusterOf({ cluster }: HostsRun): ClusterRun {
  if (cluster === null) throw new Error('the run has no cluster')
  return cluster
}
