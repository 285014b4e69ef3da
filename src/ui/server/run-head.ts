/** The parts that every page of a run shows: its state, its position, and the strip at the foot. */
import { stateOf } from '../../actors/head/run-state.ts'
import { isSimulated } from '../../actors/head/terminal/summary.ts'
import { RlError } from '../../errors.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { turnOf } from '../../events/run-turn.ts'
import { configAt } from '../../replay/config-at.ts'
import type { RunHead } from '../logic/answers.ts'
import { knownLives } from './lives.ts'
import { TURNING } from './notable.ts'
import type { OpenRun } from './open-runs.ts'

/** Number of bars of the strip, and most marks on it. */
const BARS = 160
const MOST_MARKS = 400

/**
 * Returns the position that a page shows: the asked one, or the end of the log.
 * @throws RlError `ui.bad-position`
 */
export function positionOf(log: LogReader, asked: string | undefined): number {
  const end = log.head().position
  if (asked === undefined || asked === '') return end
  const at = Number(asked)
  if (Number.isSafeInteger(at) && at >= 1 && at <= end) return at
  throw new RlError(`run '${log.run}' has no position '${asked.slice(0, 30)}'`, {
    code: 'ui.bad-position',
    hint: `its positions are 1 to ${end}`,
  })
}

export async function runHead({ folder, log }: OpenRun, asked: string | undefined): Promise<RunHead> {
  const at = positionOf(log, asked)
  const end = log.head().position
  const config = configAt(log, at)
  const shown = log.row(at)
  const turn = turnOf(log)
  const begun = log.newest(['IterationStarted'], at)
  return {
    run: folder.run,
    state: stateOf(turn, await knownLives(folder)),
    reason: turn.reason,
    position: end,
    at,
    time: shown?.time ?? null,
    type: shown?.type ?? null,
    iteration: begun?.type === 'IterationStarted' ? begun.data.iteration : null,
    iterations: config.run.iterations,
    simulated: isSimulated(config),
    ends: [...log.events({ types: ['IterationCompleted'] })].map(({ data, position }) => ({
      iteration: data.iteration,
      position,
    })),
    marks: [...log.events({ types: TURNING })]
      .slice(-MOST_MARKS)
      .map(({ position, type }) => ({ position, type })),
    density: density(log, end),
    parent: log.parent && { run: log.parent.run, position: log.parent.position },
  }
}

/** Number of ends of rollouts in equal parts of the log: the index of types counts them without a scan. */
function density(log: LogReader, end: number): readonly number[] {
  const counts: number[] = []
  let before = 0
  for (let bar = 1; bar <= BARS; bar++) {
    const count = log.countOf('TrajectoryCompleted', Math.round((bar * end) / BARS))
    counts.push(count - before)
    before = count
  }
  return counts
}
