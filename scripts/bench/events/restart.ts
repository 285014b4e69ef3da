/**
 * Time until a killed run of many events decides again, memory of its processes, and lateness of the head's
 * event loop.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { askHead } from '../../../src/actors/head/liveness.ts'
import { type RunFolder, runFolder } from '../../../src/broker/connection.ts'
import { parseConfig } from '../../../src/config.ts'
import { CATALOGUE, type LoggedEvent } from '../../../src/events/catalogue.ts'
import { openLog } from '../../../src/events/log.ts'
import { openLogReader } from '../../../src/events/log-reader.ts'
import { type Sample, watchProcesses } from '../loop/processes.ts'
import { generateLog } from '../replay/generate.ts'
import { report } from '../report.ts'

const EVENTS_AN_ITERATION = 4_600
const GOAL_S: Readonly<Record<string, string>> = { '1m': '<= 4', '5m': '< 15' }
/**
 * How long the run is watched after it came back. The head reports on its last whole 20 seconds, and its
 * start must not count.
 */
const WATCHED_MS = 41_000
/** Events after the first decision that show that every role is back: an iteration is 4,600. */
const GOES_ON_EVENTS = 5_000
const GOES_ON_MS = 600_000

/** @param index 0 for the first size, whose row of the loop's delay has the plain name */
export async function benchRestart(events: number, index: number): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'rl-bench-restart-'))
  const folder = runFolder('bench', root)
  const name = events % 1_000_000 === 0 ? `${events / 1_000_000}m` : `${Math.round(events / 1000)}k`
  try {
    const config = parseConfig({
      run: { iterations: Math.ceil(events / EVENTS_AN_ITERATION) + 1_000, evaluateEvery: 50 },
      environment: { name: 'simulated', tasksPerIteration: 16, rolloutsPerTask: 8, maxSteps: 30 },
      policy: { provider: 'simulated' },
      rewardModel: { provider: 'simulated' },
      simulation: { steps: 20 },
    })
    const log = openLog(folder.log, { run: 'bench', minFreeBytes: 0, synchronous: 'NORMAL' })
    const generated = generateLog(log, config, events)
    log.close()

    const cold = await restart(folder, root)
    const coldSeconds = cold.seconds + (await goesOn(folder, cold))
    await end(cold, 'SIGKILL')
    const warm = await restart(folder, root)
    const warmSeconds = warm.seconds + (await goesOn(folder, warm))
    const begun = positionOf(folder)
    await new Promise((resolve) => setTimeout(resolve, WATCHED_MS))
    const live = await askHead(folder)
    const after = positionOf(folder)
    await end(warm, 'SIGINT')
    const row = (value: number, more: object) =>
      report({ suite: 'events', unit: 's', goal: null, n: 1, ...(more as { name: string }), value })
    row(coldSeconds, {
      name: `first_fold_${name}_s`,
      note: `${generated} events, all folded, for there is no key frame yet; until ${GOES_ON_EVENTS} more events show that every role is back`,
    })
    row(warmSeconds, {
      name: `goes_on_${name}_s`,
      note: `as restart_${name}_s, until ${GOES_ON_EVENTS} more events show that every role is back`,
    })
    row(warm.seconds, {
      name: `restart_${name}_s`,
      goal: GOAL_S[name] ?? null,
      note: `${generated} events; from the start of the head's process, killed with SIGKILL before, to the first decision in the log`,
    })
    const peaks = Object.entries(peakOf([...cold.samples(), ...warm.samples()]))
    for (const [role, bytes] of peaks)
      row(bytes / 2 ** 20, {
        name: `rss_${role.replaceAll('-', '_')}_${name}_mb`,
        unit: 'MiB',
        note: 'most that a process of the role had, while all was folded and afterwards',
      })
    if ('unreachable' in live) throw new Error(`the run is not live: ${live.unreachable}`)
    if (!live.loopDelay) throw new Error('the head does not tell how late its loop is')
    const { p99Ms, maxMs } = live.loopDelay
    row(p99Ms, {
      name: index === 0 ? 'loop_delay_p99_ms' : `loop_delay_p99_${name}_ms`,
      unit: 'ms',
      goal: '< 20',
      note: `of the head, ${maxMs} ms at most, after ${generated} events, in a simulated run that appended ${Math.round((after - begun) / (WATCHED_MS / 1000))} events/s`,
    })
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

type Started = {
  readonly head: ChildProcess
  /** Seconds until the first decision. */
  readonly seconds: number
  readonly position: number
  readonly samples: () => readonly Sample[]
  readonly stopWatching: () => void
}

/** Starts the head and all roles. Resolves at the first decision. */
async function restart(folder: RunFolder, root: string): Promise<Started> {
  const before = positionOf(folder)
  const start = performance.now()
  const head = spawn(process.execPath, ['src/main.ts', '--role', 'head', '--run', folder.run], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, RL_RUNS: root },
  })
  const watched = watchProcesses(head.pid ?? 0)
  const log = openLogReader(folder.log)
  for (let from = before + 1; ; ) {
    const events = [...log.events({ from })]
    if (events.some(isDecision)) break
    from = (events.at(-1)?.position ?? from - 1) + 1
    if (head.exitCode !== null) throw new Error(`the head ended with status ${head.exitCode}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const seconds = (performance.now() - start) / 1000
  const { position } = log.head()
  log.close()
  return { head, seconds, position, samples: () => watched.samples, stopWatching: watched.stop }
}

/** Whether only a decider makes such events. */
function isDecision({ type, actor }: LoggedEvent): boolean {
  const by: readonly string[] = CATALOGUE[type].by
  const role = actor.split('/')[0]
  return actor.includes('/') && by.includes(role) && !by.includes(`${role}-worker`) && type !== 'ActorStarted'
}

/** Seconds until the run has gone on by an iteration. */
async function goesOn(folder: RunFolder, { position, head }: Started): Promise<number> {
  const start = performance.now()
  while (positionOf(folder) < position + GOES_ON_EVENTS) {
    if (head.exitCode !== null) throw new Error(`the head ended with status ${head.exitCode}`)
    if (performance.now() - start > GOES_ON_MS)
      throw new Error(`the run stands at position ${positionOf(folder)}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return (performance.now() - start) / 1000
}

async function end({ head, stopWatching }: Started, signal: NodeJS.Signals): Promise<void> {
  const ended = new Promise((resolve) => head.once('exit', resolve))
  head.kill(signal)
  await ended
  stopWatching()
}

function positionOf({ log }: RunFolder): number {
  const reader = openLogReader(log)
  try {
    return reader.head().position
  } finally {
    reader.close()
  }
}

function peakOf(samples: readonly Sample[]): Record<string, number> {
  const peaks: Record<string, number> = {}
  for (const { rssOf } of samples)
    for (const [role, bytes] of Object.entries(rssOf)) peaks[role] = Math.max(peaks[role] ?? 0, bytes)
  return peaks
}
