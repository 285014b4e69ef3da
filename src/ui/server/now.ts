/** Work of a run at a position: its cold start, or its open iteration. */
import type { LogReader } from '../../events/log-reader.ts'
import type { Doing } from '../logic/answers.ts'

/** @param judging whether the run has a reward model */
export function doingNow(log: LogReader, judging: boolean, at: number): Doing[] {
  const begun = log.newest(['IterationStarted'], at)
  const turn = log.newest(['RunPaused', 'RunFailed', 'RunCompleted'], at)
  if (turn?.type === 'RunCompleted') return []
  if (begun?.type !== 'IterationStarted') return coldStart(log, judging, at)
  const { iteration } = begun.data
  const ended = log.newest(['IterationCompleted'], at)
  if (ended?.type === 'IterationCompleted' && ended.data.iteration >= iteration)
    return [{ what: `between iterations ${iteration} and ${iteration + 1}`, done: null, of: null }]
  return openIteration(log, iteration, begun.position, at)
}

/** Tasks, and the first versions of both models. */
function coldStart(log: LogReader, judging: boolean, at: number): Doing[] {
  const added = log.newest(['TaskAdded'], at)
  const total = added?.type === 'TaskAdded' ? added.data.total : null
  const one = (what: string, isThere: boolean): Doing => ({ what, done: isThere ? 1 : 0, of: 1 })
  return [
    {
      what: 'tasks of the last split',
      done: added?.type === 'TaskAdded' ? added.data.index + 1 : 0,
      of: total,
    },
    one('policy version 0', isThere(log, at, 'PolicyUpdated/0')),
    ...(judging ? [one('reward model version 0', isThere(log, at, 'RewardModelUpdated/0'))] : []),
  ]
}

function openIteration(log: LogReader, iteration: number, from: number, at: number): Doing[] {
  const since = (type: Parameters<LogReader['countOf']>[0]) =>
    log.countOf(type, at) - log.countOf(type, from - 1)
  const plan = log.byKey(`IterationPlanned/${iteration}`)
  const planned =
    plan?.type === 'IterationPlanned' && plan.position <= at
      ? plan.data.groups.reduce(
          (sum, { rollouts, reserve }) => sum + (reserve ? 0 : (rollouts ?? plan.data.rolloutsPerTask)),
          0,
        )
      : null
  const requested = since('RolloutRequested')
  const update = (what: string, key: string): Doing => ({ what, done: isThere(log, at, key) ? 1 : 0, of: 1 })
  return [
    {
      what: `rollouts of iteration ${iteration}`,
      done: since('TrajectoryCompleted') + since('RolloutFailed'),
      of: Math.max(requested, planned ?? 0),
    },
    { what: 'rollouts judged', done: since('TrajectoryJudged'), of: null },
    update(`policy version ${iteration}`, `PolicyUpdated/${iteration}`),
    update(`reward model version ${iteration}`, `RewardModelUpdated/${iteration}`),
    { what: 'tasks rewritten', done: since('TaskProposed'), of: null },
  ]
}

function isThere(log: LogReader, at: number, key: string): boolean {
  const position = log.positionOf('key', key)
  return position !== null && position <= at
}
