/** Real kills: `npm run -s soak -- --help`. */
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { runFolder } from '../src/broker/connection.ts'
import { pause } from '../src/clock.ts'
import { build } from './build.ts'
import { type JoinedBroker, startJoinedBroker } from './soak/broker.ts'
import { type Blow, blowOf, FAULT_KINDS, type FaultKind, textOf } from './soak/plan.ts'
import { openSmallDisk } from './soak/small-disk.ts'
import { type SoakedRun, startSoakedRun, WORK } from './soak/soaked-run.ts'
import { strike } from './soak/strike.ts'
import { type Facts, factsOf, judge } from './soak/verdict.ts'

const HELP = `npm run -s soak -- [options]

Strikes the processes, the broker and the disk of real runs with simulated models, one run after the other, until so many
blows were struck or the time is over. Each run must end with the facts of an undisturbed run of the same config and seed.

  --kills N        blows in all                                                   (1000)
  --minutes M      ends earlier, after the run that is under way                  (60)
  --iterations N   of each run                                                    (60)
  --seed N         of the blows: the same seed strikes in the same way            (1)
  --sources        strikes the sources as Node runs them, in place of what is compiled (and installed)
  --faults A,B     only these: ${FAULT_KINDS.join(', ')}
  --log FILE       one JSON object a blow
  --json           the same on standard output

The last line is kills=N lost=0 twice=0 stuck=0 recover_p95_s=X.
  kills    blows that found somebody to strike
  lost     facts of the undisturbed run that a disturbed one lacks, and rollouts without a result
  twice    facts that it has more often
  stuck    blows after which no work was done for ${60} s
  recover  seconds from the end of a blow (the kill, the SIGCONT, the room that is given back) to the next event of work in the
           log; work is all but what is said of processes: ActorStarted, StallDetected, RunPaused and their like.
A head that was killed is started again at once, as a supervisor would, and so is a broker that is not the head's and has
lost its store to a full disk; all else is the head's own to bring back. No other process is touched than those that were
started here and those below them. A disk is full only where a tmpfs can be mounted.`

const { values: flags } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    minutes: { type: 'string', default: '60' },
    iterations: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    faults: { type: 'string', default: FAULT_KINDS.join(',') },
    log: { type: 'string' },
    sources: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (flags.help) {
  process.stdout.write(`${HELP}\n`)
  process.exit(0)
}

if (!flags.sources) build('.')
const MAIN = flags.sources ? 'src/main.ts' : 'dist/main.js'

const STUCK_MS = 60_000
/** Without a blow a run is over long before. */
const RUN_MS = 600_000
/** Number of the runs' seeds. Each has an undisturbed run. */
const RUN_SEEDS = 3
/** Every third run joins a broker whose store can be filled. */
const JOINS_EACH = 3

const goal = Number(flags.kills)
const seed = Number(flags.seed)
const until = performance.now() + Number(flags.minutes) * 60_000
const wanted = FAULT_KINDS.filter((kind) => flags.faults.split(',').includes(kind))

type Struck = Blow & {
  readonly run: string
  readonly who: string
  /** Null if the run was over before any more work. */
  readonly recoverMs: number | null
}

const struck: Struck[] = []
const lost: string[] = []
const twice: string[] = []
let stuck = 0
let number = 0
const ending = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => ending.abort())

const disk = openSmallDisk()
if (disk.skipped !== null && wanted.includes('disk-full')) say(`SKIP disk-full: ${disk.skipped}`)
const undisturbed = new Map<number, Facts>()
try {
  for (let count = 1; struck.length < goal && performance.now() < until && !ending.signal.aborted; count++) {
    const runSeed = 1 + ((seed + count) % RUN_SEEDS)
    if (!undisturbed.has(runSeed)) undisturbed.set(runSeed, await playUndisturbed(runSeed))
    if (!ending.signal.aborted) await playDisturbed(count, runSeed)
  }
} finally {
  disk.close()
}
if (process.stderr.isTTY) process.stderr.write('\n')
for (const one of [...lost.map((fact) => `lost: ${fact}`), ...twice.map((fact) => `twice: ${fact}`)].slice(
  0,
  20,
))
  say(one)
process.stdout.write(
  `kills=${struck.length} lost=${lost.length} twice=${twice.length} stuck=${stuck} recover_p95_s=${p95().toFixed(1)}\n`,
)
process.exitCode = ending.signal.aborted ? 130 : lost.length + twice.length + stuck > 0 ? 1 : 0

function settingsOf(runSeed: number): readonly string[] {
  return [
    `run.seed=${runSeed}`,
    `run.iterations=${flags.iterations}`,
    'run.evaluateEvery=20',
    'run.heartbeatSeconds=1',
    'run.workers.environment=2',
    'run.workers.reward-model=2',
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
    'log.keepFreeMegabytes=8',
  ]
}

async function playUndisturbed(runSeed: number): Promise<Facts> {
  const run = startSoakedRun({
    run: `whole-${runSeed}`,
    root: disk.folder,
    settings: settingsOf(runSeed),
    main: MAIN,
    nats: null,
  })
  try {
    await over(run)
    return factsOf(run.log())
  } finally {
    await run.stop()
    remove(run.run)
  }
}

async function playDisturbed(count: number, runSeed: number): Promise<void> {
  const name = `soak-${count}`
  const joined =
    count % JOINS_EACH === 0 ? await startJoinedBroker(join(disk.folder, `broker-${count}`)) : null
  const settings = settingsOf(runSeed)
  const run = startSoakedRun({ run: name, root: disk.folder, settings, main: MAIN, nats: joined })
  const before = { lost: lost.length, twice: twice.length, stuck }
  try {
    await strikeAllAlong(run, joined)
    await over(run)
    if (ending.signal.aborted) return
    const verdict = judge(run.log(), undisturbed.get(runSeed) as Facts)
    lost.push(...verdict.lost.map((fact) => `${name} ${fact}`))
    twice.push(...verdict.twice.map((fact) => `${name} ${fact}`))
  } finally {
    for (const end of run.ends) say(`${name}: its head ended by itself: ${end}`)
    await run.stop()
    await joined?.stop()
    if (lost.length > before.lost || twice.length > before.twice || stuck > before.stuck) keep(name)
    remove(name)
    if (joined) remove(`broker-${count}`)
  }
}

/** Removes a run that is over: it would fill the small disk. */
function remove(name: string): void {
  rmSync(join(disk.folder, name), { recursive: true, force: true })
}

/** Strikes one blow after the other. The next waits for work after the one before. */
async function strikeAllAlong(run: SoakedRun, broker: JoinedBroker | null): Promise<void> {
  const kinds = wanted.filter(
    (kind: FaultKind) =>
      (kind !== 'disk-full' || disk.skipped === null) && (kind !== 'store-full' || broker !== null),
  )
  const scene = { run, root: disk.folder, disk, broker, ending: ending.signal }
  while (struck.length < goal && performance.now() < until && !ending.signal.aborted && !run.isComplete()) {
    const blow = blowOf(seed, ++number, kinds)
    await workAfter(run, workDone(run), blow.after)
    if (run.isComplete() || ending.signal.aborted) return
    const who = await strike(scene, blow.fault)
    if (who === null) continue
    const begun = performance.now()
    const position = workDone(run)
    const recovered = await workAfter(run, position, 1)
    if (ending.signal.aborted) return
    const recoverMs = run.isComplete() ? null : Math.round(performance.now() - begun)
    if (!recovered) stuck++
    tell({ ...blow, run: run.run, who, recoverMs })
    if (!recovered) return
  }
}

function workDone(run: SoakedRun): number {
  try {
    return run.log().head().position
  } catch {
    return 0
  }
}

/**
 * Waits until the log has this number of work events after a position. Resolves to false if it takes too
 * long.
 */
async function workAfter(run: SoakedRun, position: number, events: number): Promise<boolean> {
  const late = performance.now() + STUCK_MS
  while (performance.now() < late && !ending.signal.aborted) {
    if (run.isComplete()) return true
    if (workDone(run) > position) {
      const page = run.log().page({ from: position + 1, types: WORK, limit: events })
      if (page.events.length >= events) return true
    }
    await pause(10)
  }
  return false
}

/** Waits until the run is complete or stuck. A stuck run is counted once. */
async function over(run: SoakedRun): Promise<void> {
  const late = performance.now() + RUN_MS
  while (!run.isComplete() && !ending.signal.aborted) {
    if (performance.now() > late || !(await workAfter(run, workDone(run), 1))) {
      stuck += ending.signal.aborted ? 0 : 1
      return
    }
  }
}

function tell(one: Struck): void {
  struck.push(one)
  const { number, after, fault, run, who, recoverMs } = one
  const line = JSON.stringify({ number, run, after, ...fault, who, recoverMs })
  if (flags.log) {
    mkdirSync(dirname(flags.log), { recursive: true })
    appendFileSync(flags.log, `${line}\n`)
  }
  if (flags.json) process.stdout.write(`${line}\n`)
  const text = `${struck.length}/${goal} ${run}: ${textOf(fault)} (${who}), work again after ${((recoverMs ?? 0) / 1000).toFixed(2)} s`
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text}` : `${text}\n`)
}

function say(line: string): void {
  process.stderr.write(`${process.stderr.isTTY ? '\n' : ''}${line}\n`)
}

/** Keeps the files of a run that was stuck or has lost something. */
function keep(name: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'rl-soaked-'))
  cpSync(runFolder(name, disk.folder).folder, join(folder, name), { recursive: true })
  say(`${name} is kept in ${folder}`)
}

/** Seconds. */
function p95(): number {
  const times = struck
    .flatMap(({ recoverMs }) => (recoverMs === null ? [] : [recoverMs]))
    .sort((a, b) => a - b)
  return (times[Math.ceil(times.length * 0.95) - 1] ?? 0) / 1000
}
