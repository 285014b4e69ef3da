/** One run on five hosts for each fault. It must end as if there had been none. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runFolder } from '../../src/broker/connection.ts'
import { pause } from '../../src/clock.ts'
import { explain } from '../../src/errors.ts'
import { CATALOGUE, type EventType } from '../../src/events/catalogue.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { itemAt } from '../../src/item-at.ts'
import { ALL_PARTS } from '../../test/support/processes.ts'
import { type Facts, factsOf, judge } from '../soak/verdict.ts'
import { FAULTS, type FaultRow, type Waits } from './fault-table.ts'
import { type Arrangement, CLUSTER_SIZE, HOSTS, type HostsRun, RUN, startHostsRun } from './hosts-run.ts'
import { type Network, openNetwork } from './network.ts'
import type { Supervised } from './supervised.ts'
import { readTold } from './told.ts'

export type FaultOptions = {
  readonly times: number
  /** Names of rows, or none for all. */
  readonly only: readonly string[]
  /** Waits of 30 s and more take a tenth. */
  readonly quick: boolean
  readonly say: (line: string) => void
  readonly ending: AbortSignal
}

export type FaultCounts = {
  readonly faults: number
  readonly completed: number
  readonly lost: number
  readonly doubled: number
}

/** Seconds. */
type Pace = {
  /** From the end of the fault to the next event of work, or null if it did not strike in the middle. */
  readonly goesOn: number | null
  /** Longest time without an event of work after the blow. */
  readonly silence: number
}

type Outcome = {
  readonly completed: boolean
  readonly lost: readonly string[]
  readonly doubled: readonly string[]
  readonly pace: Pace
  readonly notes: readonly string[]
}

const SETTINGS = [
  'run.iterations=16',
  'run.evaluateEvery=8',
  'run.heartbeatSeconds=1',
  'environment.name=simulated',
  'environment.tasks=12',
  'environment.tasksPerIteration=6',
  'environment.rolloutsPerTask=4',
  'environment.minGroupSize=2',
  'policy.provider=simulated',
  'rewardModel.provider=simulated',
  'adaptation.evidence=point',
  'evaluation.splits=[in-domain]',
  'evaluation.tasks=4',
]
/** Events of work before the fault: about two iterations, and elsewhere in an iteration each time. */
const STRIKES_AFTER = { first: 700, more: 53 }
const LONG_S = 30
/** A run without a fault is over long before. */
const RUN_MS = 180_000
const END_MS = 45_000
const PAGE = 1_000

/** Events about the work. The others are about processes, and tell of a fault. */
const isWork = (type: EventType) => CATALOGUE[type].reproducible || type === 'RolloutFailed'
const TYPES = Object.keys(CATALOGUE).filter((type): type is EventType => type in CATALOGUE)
const WORK = TYPES.filter(isWork)
const TOLD = TYPES.filter((type) => !isWork(type) && !/^(Run(Started|Completed)|ActorStarted)$/.test(type))

/** @throws Error if a name means no row, or a run cannot be started */
export async function checkFaults(options: FaultOptions): Promise<FaultCounts> {
  const { times, only, say, ending } = options
  const unknown = only.find((name) => !FAULTS.some((row) => row.name === name))
  if (unknown !== undefined) throw new Error(`there is no fault ${unknown}`)
  const rows = FAULTS.filter(({ name }) => only.length === 0 || only.includes(name))
  const undisturbed = await playUndisturbed()
  say(`one host, no fault: ${undisturbed.size} facts`)
  const counts = { faults: 0, completed: 0, lost: 0, doubled: 0 }
  for (let time = 0; time < times; time++)
    for (const row of rows) {
      if (ending.aborted) return counts
      const began = performance.now()
      const outcome = await playDisturbed(row, time, undisturbed, options).catch(notPlayed)
      const seconds = (performance.now() - began) / 1_000
      counts.faults++
      counts.completed += outcome.completed ? 1 : 0
      counts.lost += outcome.lost.length
      counts.doubled += outcome.doubled.length
      say(lineOf(row, seconds, outcome))
      for (const one of [...outcome.lost, ...outcome.doubled].slice(0, 5)) say(`  ${one}`)
    }
  return counts
}

/** A run that cannot be started is not completed. The others are played all the same. */
function notPlayed(error: unknown): Outcome {
  return {
    completed: false,
    lost: [],
    doubled: [],
    pace: { goesOn: null, silence: 0 },
    notes: [explain(error)],
  }
}

function lineOf({ name }: FaultRow, seconds: number, outcome: Outcome): string {
  const { completed, lost, doubled, pace, notes } = outcome
  const end = completed ? 'completed' : 'NOT COMPLETED'
  const on = pace.goesOn === null ? [] : [`work again after ${pace.goesOn.toFixed(1)} s`]
  const silence = `silent for ${pace.silence.toFixed(1)} s at most`
  const parts = [end, `lost ${lost.length}`, `doubled ${doubled.length}`, ...on, silence, ...notes]
  return `${name}: ${seconds.toFixed(0)} s, ${parts.join(', ')}`
}

async function playUndisturbed(): Promise<Facts> {
  return withNetwork(1, async (network) => {
    const host = itemAt(network.hosts, 0)
    const set = SETTINGS.flatMap((setting) => ['--set', setting])
    const head = host.start(['src/main.ts', '--role', 'head', '--run', RUN, '--no-ui', ...ALL_PARTS, ...set])
    const status = await head.status
    if (status !== 0) throw new Error(`the run without a fault ended with ${status}: ${head.output()}`)
    const log = openLogReader(runFolder(RUN, host.runs).log)
    try {
      return factsOf(log)
    } finally {
      log.close()
    }
  })
}

function playDisturbed(
  row: FaultRow,
  time: number,
  undisturbed: Facts,
  options: FaultOptions,
): Promise<Outcome> {
  const arrangement = row.arrange ?? NOTHING
  return withNetwork(arrangement.cluster ? CLUSTER_SIZE : HOSTS, async (network, root) => {
    const run = await startHostsRun(network, root, SETTINGS, arrangement)
    try {
      const pace = await paceOf(run, row, time, options)
      if (options.ending.aborted) throw new Error('it was ended')
      const isWhole = run.isComplete() && (await ends(run, row))
      const outcome = await verdictOf(run, undisturbed)
      const completed = isWhole && outcome.completed
      if (!completed || outcome.lost.length + outcome.doubled.length > 0) keep(root, run, row, options)
      return { ...outcome, completed, pace }
    } finally {
      network.close()
      run.close()
    }
  })
}

const NOTHING: Arrangement = {}

/** Strikes, and watches the work until the run is complete or too late. */
async function paceOf(run: HostsRun, row: FaultRow, time: number, options: FaultOptions): Promise<Pace> {
  const { quick, ending } = options
  const waits: Waits = {
    seconds: (count) => pause((quick && count >= LONG_S ? count / 10 : count) * 1_000, ending),
    ending,
  }
  await workAfter(run, 0, STRIKES_AFTER.first + time * STRIKES_AFTER.more, ending)
  let undoneAt = row.strike ? Number.POSITIVE_INFINITY : performance.now()
  let failure: unknown = null
  const act = row.strike?.(run, waits).then(
    () => {
      undoneAt = performance.now()
    },
    (error: unknown) => {
      failure = error
    },
  )
  let goesOn: number | null = null
  let silence = 0
  let { position } = run.log().head()
  let heardAt = performance.now()
  let late = heardAt + RUN_MS
  while (!run.isComplete() && failure === null && performance.now() < late && !ending.aborted) {
    const last = run
      .log()
      .page({ from: position + 1, types: WORK, limit: PAGE })
      .events.at(-1)
    const now = performance.now()
    if (last !== undefined) {
      position = last.position
      silence = Math.max(silence, now - heardAt)
      heardAt = now
      if (now > undoneAt) goesOn ??= now - undoneAt
    }
    if (undoneAt === Number.POSITIVE_INFINITY) late = now + RUN_MS
    await pause(10)
  }
  await act
  if (failure !== null) throw failure
  return { goesOn: goesOn === null ? null : goesOn / 1_000, silence: silence / 1_000 }
}

async function workAfter(
  run: HostsRun,
  position: number,
  events: number,
  ending: AbortSignal,
): Promise<void> {
  const late = performance.now() + RUN_MS
  while (performance.now() < late && !run.isComplete() && !ending.aborted) {
    const page = run.log().page({ from: position + 1, types: WORK, limit: events })
    if (page.events.length >= events) return
    await pause(10)
  }
}

/** Waits for the ends of all parts that can end. Resolves to false if the head, or a part, does not end well. */
async function ends(run: HostsRun, { gone = [] }: FaultRow): Promise<boolean> {
  const late = new AbortController()
  const living = allOf(run).filter(({ name }) => !gone.some((one) => one === name))
  const statuses = await Promise.race([
    Promise.all(living.map(({ ended }) => ended)),
    pause(END_MS, late.signal).then(() => null),
  ])
  late.abort()
  return statuses?.every((status) => status === 0) ?? false
}

/** Processes that end with the run. */
function allOf({ head, cluster, parts }: HostsRun): readonly Supervised[] {
  return [head, ...(cluster ? [cluster.standby] : []), ...Object.values(parts)]
}

async function verdictOf(run: HostsRun, undisturbed: Facts): Promise<Omit<Outcome, 'pace'>> {
  const { log, cluster } = run
  const verdict = judge(log(), undisturbed)
  const told = readTold(run.told, log())
  const host = cluster?.standbyHost ?? run.headHost
  const replayed = host.start(['src/rl.ts', 'replay', RUN, '--trust'])
  const isSame = (await replayed.status) === 0
  const counts = TOLD.map((type) => [type, log().countOf(type)] as const).filter(([, count]) => count > 0)
  const all = [...allOf(run), ...(cluster?.brokers ?? [])]
  return {
    completed: isSame,
    lost: [...verdict.lost, ...told.lost],
    doubled: [...verdict.twice, ...told.doubled],
    notes: [
      ...(isSame ? [] : [`replay: ${replayed.output().trim().split('\n').at(-1)}`]),
      `heard ${told.heard} of ${log().head().position} events`,
      `told ${counts.map(([type, count]) => `${type} ${count}`).join(' ') || 'nothing'}`,
      ...all.flatMap(({ name, restarts }) => (restarts() > 0 ? [`${name} started again ${restarts()}`] : [])),
      ...all.flatMap(({ name, ends }) => ends.map((end) => `${name} ended by itself (${end})`)),
    ],
  }
}

async function withNetwork<T>(
  count: number,
  use: (network: Network, root: string) => Promise<T>,
): Promise<T> {
  const root = mkdtempSync(join(tmpdir(), 'rl-e2e-'))
  const network = openNetwork(count, root)
  try {
    return await use(network, root)
  } finally {
    network.close()
    rmSync(root, { recursive: true, force: true })
  }
}

/** Keeps the log of a run that shows a fault, and what its parts printed. */
function keep(root: string, run: HostsRun, { name }: FaultRow, { say }: FaultOptions): void {
  const folder = mkdtempSync(join(tmpdir(), `rl-e2e-${name}-`))
  cpSync(root, folder, { recursive: true, filter: (path) => !path.endsWith('.sock') })
  for (const part of [...allOf(run), ...(run.cluster?.brokers ?? [])])
    writeFileSync(join(folder, `${part.name}.txt`), part.output())
  say(`  ${name} is kept in ${folder}`)
}
