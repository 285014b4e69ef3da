/** The rollouts of a group, as cells. */
import { rolloutName } from '../../actors/decider/names.ts'
import type { LogReader } from '../../events/log-reader.ts'
import type { Cell } from '../logic/answers.ts'
import { eventAt } from './event-at.ts'

export function groupRollouts(
  log: LogReader,
  iteration: number,
  slot: string,
  rollouts: number,
  at: number,
  trained: ReadonlySet<string>,
): Cell[] {
  return Array.from({ length: rollouts }, (_, index) =>
    cellOf(log, rolloutName(iteration, slot, index), at, trained),
  )
}

/** Returns whether a program of these rollouts was run against tests. */
export function haveTests(log: LogReader, cells: readonly Cell[], at: number): boolean {
  return cells.some(({ rollout }) => {
    const position = log.positionOf('key', `ProgramTested/${rollout}`)
    return position !== null && position <= at
  })
}

function cellOf(log: LogReader, rollout: string, at: number, trained: ReadonlySet<string>): Cell {
  const none = {
    rollout,
    success: null,
    value: null,
    steps: null,
    verdict: null,
    policyVersion: null,
    trained: trained.has(rollout),
    ended: null,
    error: null,
  }
  const event = eventAt(log, `Rollout/${rollout}`, at)
  if (event?.type === 'RolloutFailed') return { ...none, state: 'failed', error: event.data.error }
  if (event?.type !== 'TrajectoryCompleted') return { ...none, state: 'open' }
  const { outcome, steps, policyVersion, ended } = event.data
  const judged = eventAt(log, `TrajectoryJudged/${rollout}`, at)
  return {
    ...none,
    state: 'played',
    success: outcome.kind === 'scored' ? outcome.success : null,
    value: outcome.kind === 'scored' ? outcome.value : null,
    steps,
    verdict: judged?.type === 'TrajectoryJudged' ? judged.data.meanVerdict : null,
    policyVersion,
    ended,
  }
}
