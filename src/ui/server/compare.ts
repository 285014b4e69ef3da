/** Two runs side by side: what they share, their first divergence, and how often each solved the same tasks. */
import { RlError } from '../../errors.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { startThread } from '../../package.ts'
import type { RunDiff } from '../../replay/diff.ts'
import type { EventRow } from '../logic/answers.ts'
import { type ComparePage, MOST_RUNS, type RunCurve } from '../logic/compare-page.ts'
import type { Compared, CompareThreadData } from './compare-thread.ts'
import { rowOf } from './events.ts'
import type { OpenRun, OpenRuns } from './open-runs.ts'
import { overview } from './overview.ts'

/** Most characters of a value of a config. */
const MOST_TEXT = 300
const MOST_TASKS = 300

/** Comparisons by runs and positions. A pair that did not grow is not read again. */
const known = new Map<string, Promise<RunDiff>>()
const KEPT = 6
/** One comparison is made at a time. */
let last: Promise<unknown> = Promise.resolve()

/**
 * @param group purpose and iteration whose tasks are listed. Left out: the last one with a difference, held-out ones first.
 * @throws RlError `run.unknown`, `ui.bad-compare`, and those of the logs
 */
export async function comparePage(
  runs: OpenRuns,
  first: string,
  second: string,
  group?: string,
): Promise<ComparePage> {
  if (first === '' || second === '')
    throw new RlError('two runs are compared', {
      code: 'ui.bad-compare',
      hint: 'choose two in the list of runs',
    })
  const [a, b] = [runs.open(first), runs.open(second)]
  const { shared, config, divergence, figures, unpaired, tasks } = await diffOf(a, b)
  const groups = [...new Set(tasks.map((one) => one.group))]
  const flipped = new Set(tasks.flatMap((task) => (task.a === task.b ? [] : [task.group])))
  const isHeldOut = (one: string) => one.startsWith('evaluation')
  const shown =
    groups.find((one) => one === group) ??
    groups.findLast((one) => isHeldOut(one) && flipped.has(one)) ??
    groups.findLast((one) => flipped.has(one)) ??
    groups.at(-1) ??
    null
  const own = tasks.filter((one) => one.group === shown)
  const flips = own.filter((task) => task.a !== task.b)
  return {
    a: a.folder.run,
    b: b.folder.run,
    shared,
    config: config.map((entry) => ({ key: entry.key, a: textOf(entry.a), b: textOf(entry.b) })),
    divergence: divergence && {
      key: divergence.key,
      what: divergence.what,
      a: rowAt(a.log, divergence.a),
      b: rowAt(b.log, divergence.b),
    },
    figures,
    unpaired,
    groups,
    group: shown,
    tasks: flips
      .sort((one, other) => Math.abs(other.b - other.a) - Math.abs(one.b - one.a))
      .slice(0, MOST_TASKS)
      .map(({ slot, rollouts, a, b }) => ({ slot, rollouts, a, b })),
    same: own.length - flips.length,
  }
}

/** @throws RlError `run.unknown`, and those of the logs */
export function curveRuns(runs: OpenRuns, names: readonly string[]): readonly OpenRun[] {
  return names.slice(0, MOST_RUNS).map((name) => runs.open(name))
}

/** Returns the curves of runs. Points that a run has from the first run's log are left out. */
export function curvesOfRuns(opened: readonly OpenRun[]): readonly RunCurve[] {
  const [first] = opened
  return opened.map((run, i) => {
    const { success, complete } = overview(run, run.log.head().position)
    const from = i === 0 || first === undefined ? -1 : sharedIteration(run.log, first.log)
    return { run: run.folder.run, complete, success: success.filter(({ iteration }) => iteration > from) }
  })
}

/** Returns the last iteration that had ended when a run left another. Returns -1 if it never left that one. */
function sharedIteration(log: LogReader, of: LogReader): number {
  let position = Number.POSITIVE_INFINITY
  for (let reader: LogReader | null = log; reader?.parent && reader.parentLog; reader = reader.parentLog) {
    position = Math.min(position, reader.parent.position)
    if (reader.parentLog.path !== of.path) continue
    const ended = of.newest(['IterationCompleted'], position)
    return ended?.type === 'IterationCompleted' ? ended.data.iteration : -1
  }
  return -1
}

function textOf(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value).slice(0, MOST_TEXT)
}

function rowAt(log: LogReader, position: number | null): EventRow | null {
  if (position === null) return null
  const [event] = log.events({ from: position, until: position })
  return event ? rowOf(event) : null
}

function diffOf(a: OpenRun, b: OpenRun): Promise<RunDiff> {
  const key = [a, b].map(({ folder, log }) => `${folder.run}@${log.head().position}`).join(' ')
  const found = known.get(key)
  if (found !== undefined) return found
  const made = last.then(() => diffInThread({ a: a.folder.log, b: b.folder.log }))
  last = made.catch(() => known.delete(key))
  known.set(key, made)
  for (const old of [...known.keys()].slice(0, -KEPT)) known.delete(old)
  return made
}

function diffInThread(data: CompareThreadData): Promise<RunDiff> {
  const thread = startThread(new URL('./compare-thread.ts', import.meta.url), data)
  // A server that ends does not wait for it.
  thread.unref()
  return new Promise<RunDiff>((resolve, reject) => {
    thread.once('message', (compared: Compared) => {
      if ('diff' in compared) resolve(compared.diff)
      else {
        const { code, message, hint } = compared.fault
        reject(new RlError(message, { code, hint: hint ?? undefined }))
      }
    })
    thread.once('error', reject)
    thread.once('exit', () =>
      reject(new RlError('the comparison ended without an answer', { code: 'ui.bad-compare' })),
    )
  })
}
