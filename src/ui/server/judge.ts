/** Verdicts of an iteration against true progress and outcomes, as they were logged. No model is asked. */

import { RlError } from '../../errors.ts'
import type { EventData, LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { itemAt } from '../../item-at.ts'
import { progressLabel } from '../../learning/progress-labels.ts'
import {
  type JudgedRow,
  type JudgePage,
  type Measure,
  TRUTHS,
  type Truth,
  VERDICTS,
  type Verdict,
} from '../logic/judge-page.ts'
import { eventAt } from './event-at.ts'
import { knownConfig } from './known-config.ts'
import type { OpenRun } from './open-runs.ts'
import { judgePoints } from './overview.ts'

const MOST_ROWS = 200

export type JudgeQuery = {
  /** Left out: the last iteration with verdicts. */
  readonly iteration?: number
  /** Left out: progress if it is known of any step. */
  readonly by?: Measure
  /** A cell of the matrix. Left out: all wrong verdicts. */
  readonly cell?: { readonly verdict: Verdict; readonly truth: Truth }
}

type Judged = {
  readonly data: EventData<'StepScored'>
  readonly position: number
  readonly verdict: Verdict
  readonly truth: Readonly<Record<Measure, Truth>>
  /** In [0, 1]. */
  readonly certainty: number
  readonly action: string
}

/** @throws RlError `ui.no-verdicts` */
export function judgePage({ log, figures }: OpenRun, at: number, query: JudgeQuery): JudgePage {
  const last = log.newest(['StepScored'], at)
  if (last?.type !== 'StepScored')
    throw new RlError(`the judge of run '${log.run}' has said nothing at position ${at}`, {
      code: 'ui.no-verdicts',
      hint: 'verdicts come with the first iteration, if rewardModel.mode is not off',
    })
  const iteration = query.iteration ?? lastWhole(log, last.data.iteration, at)
  const steps = judgedSteps(log, iteration, at)
  const by = query.by ?? (steps.some(({ truth }) => truth.progress !== 'unknown') ? 'progress' : 'outcome')
  const isWanted = ({ verdict, truth }: Judged) =>
    query.cell === undefined
      ? truth[by] !== 'unknown' && verdict !== truth[by]
      : verdict === query.cell.verdict && truth[by] === query.cell.truth
  const found = steps.filter(isWanted).sort((a, b) => b.certainty - a.certainty)
  const folded = figures.read()
  return {
    iteration,
    before: iteration > firstJudged(log) ? iteration - 1 : null,
    after: iteration < last.data.iteration ? iteration + 1 : null,
    rewardModelVersion: steps[0]?.data.rewardModelVersion ?? null,
    isEstimate: knownConfig(log, at).rewardModel.provider === 'environment',
    steps: steps.length,
    matrices: { progress: matrixOf(steps, 'progress'), outcome: matrixOf(steps, 'outcome') },
    by,
    rows: found.slice(0, MOST_ROWS).map((one) => rowOf(one, by)),
    found: found.length,
    curve: folded === null ? [] : judgePoints(folded.db, 0, last.data.iteration),
  }
}

/** An open iteration has few verdicts. The one before it is shown first. */
function lastWhole(log: LogReader, iteration: number, at: number): number {
  const isOver = eventAt(log, `IterationCompleted/${iteration}`, at) !== null
  return isOver || iteration <= firstJudged(log) ? iteration : iteration - 1
}

/** First iteration with verdicts of each log, with the hash of the event that says so. */
const firsts = new WeakMap<
  LogReader,
  { readonly position: number; readonly hash: string; readonly iteration: number }
>()

function firstJudged(log: LogReader): number {
  const known = firsts.get(log)
  if (known && log.hashAt(known.position) === known.hash) return known.iteration
  for (const { data, position } of log.events({ types: ['StepScored'] })) {
    firsts.set(log, { position, hash: log.hashAt(position), iteration: data.iteration })
    return data.iteration
  }
  return 0
}

/** Verdicts of the last question. The next one is often on another cell of the same iteration. */
const kept = new WeakMap<LogReader, { readonly key: string; readonly steps: readonly Judged[] }>()

function judgedSteps(log: LogReader, iteration: number, at: number): readonly Judged[] {
  const from = log.positionOf('key', `IterationStarted/${iteration}`)
  if (from === null || from > at) return []
  const until = Math.min(at, log.positionOf('key', `IterationCompleted/${iteration}`) ?? at)
  const key = `${iteration} ${until} ${log.hashAt(until)}`
  const known = kept.get(log)
  if (known?.key === key) return known.steps
  const trajectories = new Map<string, EventData<'TrajectoryCompleted'> | null>()
  const trajectoryOf = (rollout: string) => {
    const known = trajectories.get(rollout)
    if (known !== undefined) return known
    const event = log.byKey(`Rollout/${rollout}`)
    const found = event?.type === 'TrajectoryCompleted' ? event.data : null
    trajectories.set(rollout, found)
    return found
  }
  const steps: Judged[] = []
  for (const event of log.events({ from, until, types: ['StepScored'] }))
    if (event.data.iteration === iteration) steps.push(judgedOf(event, trajectoryOf(event.data.rollout)))
  kept.set(log, { key, steps })
  return steps
}

function judgedOf(
  { data, position }: LoggedEvent<'StepScored'>,
  trajectory: EventData<'TrajectoryCompleted'> | null,
): Judged {
  const { judgements, probability, progress, step } = data
  const sum = judgements.reduce((total, { score }) => total + score, 0)
  const outcome = trajectory?.outcome
  return {
    data,
    position,
    verdict: itemAt(VERDICTS, 1 + Math.sign(sum)),
    truth: {
      progress: progress === null ? 'unknown' : progressLabel(progress) > 0 ? 'good' : 'bad',
      outcome: outcome?.kind === 'scored' ? (outcome.success ? 'good' : 'bad') : 'unknown',
    },
    certainty:
      probability === null ? Math.abs(sum) / Math.max(1, judgements.length) : Math.abs(probability - 0.5) * 2,
    action: trajectory?.actions[step] ?? '',
  }
}

function matrixOf(steps: readonly Judged[], by: Measure): number[][] {
  return VERDICTS.map((said) =>
    TRUTHS.map((is) => steps.filter(({ verdict, truth }) => verdict === said && truth[by] === is).length),
  )
}

function rowOf({ data, position, verdict, truth, action }: Judged, by: Measure): JudgedRow {
  return {
    rollout: data.rollout,
    step: data.step,
    action: action.slice(0, 300),
    verdict,
    truth: truth[by],
    probability: data.probability,
    progress: data.progress,
    critique: data.judgements[0]?.critique.slice(0, 500) ?? '',
    position,
  }
}
