/** Kinds of faults of a run on several hosts. A kind is one row: its name, what it does and how it is undone, and its acts. */
import { rmSync } from 'node:fs'
import { pause } from '../../src/clock.ts'
import { CLUSTER_FAULTS } from './cluster-faults.ts'
import type { Arrangement, HostsRun } from './hosts-run.ts'

export type FaultRow = {
  readonly name: string
  /** What it does, and how it is undone. */
  readonly what: string
  /** What is so from the start of the run to its end. */
  readonly arrange?: Arrangement
  /** Strikes in the middle of the run. Resolves when the fault is undone, or is there for good. */
  readonly strike?: (run: HostsRun, waits: Waits) => Promise<void>
  /** Parts that never end by themselves after it. */
  readonly gone?: readonly (keyof HostsRun['parts'] | 'head')[]
}

export type Waits = {
  /** Waits. With --quick long times are a tenth. */
  readonly seconds: (count: number) => Promise<void>
  /** Aborted when the whole check ends. */
  readonly ending: AbortSignal
}

const SECOND_MS = 20_000
const HOUR_MS = 3_600_000
/** Of each second a process that is ten times slower has a tenth. */
const SLOW_MS = { runs: 50, stands: 450 }

export const FAULTS: readonly FaultRow[] = [
  cut('cut-5s', 5),
  cut('cut-60s', 60),
  cut('cut-5min', 300),
  {
    name: 'silent-hole',
    what: 'frames from and to the policy vanish for 30 s, and its link stays up',
    async strike(run, { seconds }) {
      run.hostOf('policy').hole(true)
      await seconds(30)
      run.hostOf('policy').hole(false)
    },
  },
  {
    name: 'delay-50ms',
    what: 'each frame between the head and policy, judge and worker takes 50 ms, all along',
    arrange: { links: everyLink({ delayMs: 50, loss: 0 }) },
  },
  {
    name: 'loss-1-percent',
    what: 'each hundredth frame between the head and policy, judge and worker is lost and repeated, all along',
    arrange: { links: everyLink({ delayMs: 1, loss: 0.01 }) },
  },
  {
    name: 'clock-off-1h',
    what: 'the clocks of policy and worker are an hour ahead, that of the judge is an hour behind, all along',
    arrange: { clocks: { policy: HOUR_MS, worker: HOUR_MS, judge: -HOUR_MS } },
  },
  {
    name: 'worker-gone',
    what: 'SIGKILL of the worker, for good',
    gone: ['worker'],
    strike: async ({ parts }) => parts.worker.end(),
  },
  {
    name: 'worker-hung',
    what: 'SIGSTOP of the worker, for good',
    gone: ['worker'],
    async strike({ parts }) {
      parts.worker.giveUp()
      parts.worker.stop()
    },
  },
  {
    name: 'worker-slow',
    what: 'the worker has a tenth of the time (SIGSTOP and SIGCONT in turn), for good',
    gone: ['worker'],
    async strike({ parts, isComplete }, { ending }) {
      parts.worker.giveUp()
      void slow(parts.worker, () => ending.aborted || isComplete())
    },
  },
  {
    name: 'policy-killed',
    what: 'SIGKILL of the policy; its supervisor starts it again after a second',
    strike: async ({ parts }) => parts.policy.kill(),
  },
  {
    name: 'broker-killed',
    what: 'SIGKILL of nats-server; the head starts it again',
    async strike(run) {
      killBroker(run)
    },
  },
  {
    name: 'store-wiped',
    what: 'nats-server is killed and its streams are deleted; the head starts it again',
    async strike(run) {
      rmSync(run.store, { recursive: true, force: true })
      killBroker(run)
    },
  },
  {
    name: 'head-killed',
    what: 'SIGKILL of the head, with which its broker ends; its supervisor starts it again after a second',
    strike: async ({ head }) => head.kill(),
  },
  {
    name: 'head-stopped-30s',
    what: 'SIGSTOP of the head for 30 s; its broker goes on',
    async strike({ head }, { seconds }) {
      head.stop()
      await seconds(30)
      head.goOn()
    },
  },
  {
    name: 'head-cut',
    what: 'the link of the host with head and broker is down for 20 s',
    async strike({ headHost }, { seconds }) {
      headHost.link(false)
      await seconds(20)
      headHost.link(true)
    },
  },
  {
    name: 'broker-and-head',
    what: 'SIGKILL of nats-server with its store, and of the head 1.5 s later; its supervisor starts it again after a second',
    async strike(run) {
      rmSync(run.store, { recursive: true, force: true })
      killBroker(run)
      await pause(1_500)
      run.head.kill()
    },
  },
  {
    name: 'role-twice',
    what: 'SIGKILL of the head; when it is back, a second process asks for the role of a living one, and must be refused; the judge is stopped meanwhile',
    strike: takeTwice,
  },
  ...CLUSTER_FAULTS,
]

/** The living process has a number that no process of the head's host has, and both hosts have one name. */
async function takeTwice(run: HostsRun, { ending }: Waits): Promise<void> {
  const starts = () => run.log().countOf('RunResumed')
  const before = starts()
  // So the run is not over before the second process asks.
  run.parts.judge.stop()
  run.head.kill()
  while (starts() === before && !ending.aborted) await pause(20)
  const second = run.hostOf('worker').start(['src/main.ts', '--join', run.fileOf('policy')])
  const late = new AbortController()
  const status = await Promise.race([second.status, pause(SECOND_MS, late.signal).then(() => 'none')])
  late.abort()
  run.parts.judge.goOn()
  second.process.kill('SIGKILL')
  if (!second.output().includes('is taken by'))
    throw new Error(`a second policy was not refused (status ${status}): ${second.output().trim()}`)
}

function cut(name: string, length: number): FaultRow {
  return {
    name,
    what: `the link of the policy's host is down for ${length} s`,
    async strike(run, { seconds }) {
      run.hostOf('policy').link(false)
      await seconds(length)
      run.hostOf('policy').link(true)
    },
  }
}

function everyLink<T>(bad: T): { readonly policy: T; readonly judge: T; readonly worker: T } {
  return { policy: bad, judge: bad, worker: bad }
}

function killBroker(run: HostsRun): void {
  const pid = run.broker()
  if (pid === null) throw new Error('the run has no broker to kill')
  process.kill(pid, 'SIGKILL')
}

async function slow(
  part: { readonly stop: () => void; readonly goOn: () => void },
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    part.stop()
    await pause(SLOW_MS.stands)
    part.goOn()
    await pause(SLOW_MS.runs)
  }
}
