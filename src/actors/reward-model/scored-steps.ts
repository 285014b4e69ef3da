/** The events that tell what a local judge said of each step of a trajectory. */

import { type Causes, critiqueText } from '../../environments/causes.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import { float32Column, int32Column } from '../../events/columns.ts'
import { itemAt } from '../../item-at.ts'
import { UNREADABLE } from '../../learning/criteria.ts'
import { stableMean } from '../../learning/moments.ts'
import type { Judgements } from './judge.ts'
import { type Estimates, estimateAt } from './measured.ts'

export type JudgedTrajectory = {
  readonly trajectory: Pick<EventData<'TrajectoryCompleted'>, 'rollout' | 'iteration' | 'actions'>
  readonly task: string
  readonly rewardModelVersion: number
  /** [steps][samples] */
  readonly judgements: Judgements
  readonly estimates: Estimates
  readonly durationMs: number
}

export function scoredSteps(judged: JudgedTrajectory, causes: Causes, byCause = false): NewEvent[] {
  const { task, rewardModelVersion, judgements, estimates, durationMs } = judged
  const { rollout, iteration, actions } = judged.trajectory
  const about = (cause: string | null) => (byCause ? { criterion: cause ?? UNREADABLE } : {})
  return actions.map((action, step) => {
    const verdicts = itemAt(judgements, step)
    return {
      type: 'StepScored',
      data: {
        rollout,
        iteration,
        step,
        task,
        rewardModelVersion,
        judgements: verdicts.map((verdict) =>
          verdict === null
            ? { critique: '', score: 0, tokensI32: NOTHING, logprobsF32: NOTHING, ...about(null) }
            : {
                critique: critiqueText(causes, verdict.cause, action),
                score: verdict.score,
                tokensI32: int32Column(verdict.tokens),
                logprobsF32: float32Column(verdict.logprobs),
                ...about(verdict.cause),
              },
        ),
        probability: probabilityOf(verdicts),
        ...estimateAt(estimates, step),
        ...(step === 0 ? { timing: { judgeMs: durationMs } } : {}),
      },
    }
  })
}

const NOTHING = new Uint8Array()

/** Returns the mean probability of a good verdict over the chains, or null without any. */
function probabilityOf(verdicts: Judgements[number]): number | null {
  const known = verdicts.flatMap((verdict) => (verdict ? [verdict.goodProbability] : []))
  return known.length === 0 ? null : Math.min(1, Math.max(0, stableMean(known)))
}
