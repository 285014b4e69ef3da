/** Verdicts on a trajectory's steps as they come in, until each step has one. */
import type { EventData } from '../../events/catalogue.ts'
import { stepScore } from '../../learning/reward.ts'
import type { ScoreKind } from '../../learning/terms.ts'

type Trajectory = EventData<'TrajectoryCompleted'>
type Judged = EventData<'TrajectoryJudged'>

export type Verdicts = {
  readonly trajectory: Pick<Judged, 'rollout' | 'iteration' | 'purpose' | 'slot' | 'task'> & {
    readonly index: number
  }
  readonly rewardModelVersion: number
  /** [steps]: mean verdict in [-1, 1]. Only verdicts of seen steps count. */
  readonly byStep: Float64Array
  readonly complaints: { readonly step: number; readonly critique: string }[]
  seen: number
}

/** Most complaints that are kept of one trajectory, and most characters of one: a judge's conclusion stands at its end. */
const COMPLAINTS = 8
const COMPLAINT_LENGTH = 240

export function awaitVerdicts(trajectory: Trajectory, rewardModelVersion: number): Verdicts {
  const { rollout, iteration, purpose, slot, task, index, steps } = trajectory
  return {
    trajectory: { rollout, iteration, purpose, slot, task, index },
    rewardModelVersion,
    byStep: new Float64Array(steps),
    complaints: [],
    seen: 0,
  }
}

/** Enters one step's judgements. The log holds each step once. */
export function enterVerdict(
  verdicts: Verdicts,
  { step, judgements, probability }: EventData<'StepScored'>,
  kind: ScoreKind,
): void {
  if (step >= verdicts.byStep.length) return
  const verdict = stepScore({ scores: judgements.map(({ score }) => score), probability }, kind)
  verdicts.byStep[step] = verdict
  verdicts.seen++
  if (verdict >= 0) return
  const critique = judgements.find(({ score, critique }) => score === -1 && critique !== '')?.critique
  if (critique) verdicts.complaints.push({ step, critique: critique.slice(-COMPLAINT_LENGTH) })
}

export function allJudged({ seen, byStep }: Verdicts): boolean {
  return seen === byStep.length
}

/** The same whatever the order in which the steps were judged. */
export function summary({ trajectory, rewardModelVersion, byStep, complaints }: Verdicts): Judged {
  const steps = { good: 0, bad: 0, undecided: 0 }
  let sum = 0
  for (const verdict of byStep) {
    steps[verdict > 0 ? 'good' : verdict < 0 ? 'bad' : 'undecided']++
    sum += verdict
  }
  const { rollout, iteration, purpose, slot, task } = trajectory
  return {
    rollout,
    iteration,
    purpose,
    slot,
    task,
    rewardModelVersion,
    steps,
    meanVerdict: byStep.length === 0 ? 0 : Math.max(-1, Math.min(1, sum / byStep.length)),
    complaints: [...complaints].sort((a, b) => a.step - b.step).slice(0, COMPLAINTS),
  }
}
