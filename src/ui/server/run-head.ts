/** The parts that every page of a run shows: its state, its position, and the strip at the foot. */

import { stateOf } from '../../actors/head/run-state.ts'
import { plannedIterations } from '../../actors/planned-iterations.ts'
import { isSimulated } from '../../config/roles.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { turnOf } from '../../events/run-turn.ts'
import type { RunHead } from '../logic/answers.ts'
import { mayAct } from './actions.ts'
import { knownConfig } from './known-config.ts'
import { knownLives } from './lives.ts'
import { NotHere } from './not-here.ts'
import type { OpenRun } from './open-runs.ts'

/**
 * Returns the position that a page shows: the asked one, or the end of the log.
 * @throws RlError `ui.bad-position`
 */
export function positionOf(log: LogReader, asked: string | undefined): number {
  const end = log.head().position
  if (asked === undefined || asked === '') return end
  const at = Number(asked)
  if (Number.isSafeInteger(at) && at >= 1 && at <= end) return at
  throw new NotHere(`run '${log.run}' has no position '${asked.slice(0, 30)}'`, {
    code: 'ui.bad-position',
    hint: `its positions are 1 to ${end}`,
    near: { at: at < 1 ? '1' : null },
  })
}

export async function runHead({ folder, log }: OpenRun, asked: string | undefined): Promise<RunHead> {
  const at = positionOf(log, asked)
  const end = log.head().position
  const config = knownConfig(log, at)
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
    iterations: plannedIterations(config.run),
    simulated: isSimulated(config),
    actions: mayAct(config.ui),
    parent: log.parent && { run: log.parent.run, position: log.parent.position },
  }
}
