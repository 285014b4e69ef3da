/**
 * A judge without a model (provider `environment`): the setting's own estimate of what remains. A verdict is the progress
 * of its step, so nothing is started, taught or trained.
 */

import type { Config } from '../../config.ts'
import { type Causes, causesOf, critiqueText, type Label } from '../../environments/causes.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { itemAt } from '../../item-at.ts'
import { progressLabel } from '../../learning/progress-labels.ts'
import { rng, seedOf } from '../../random.ts'
import type { JudgeRollouts, Train } from '../decider/jobs.ts'
import { fixedLearner } from '../learner/fixed-learner.ts'
import { openTaskBook, readIteration, trajectoryBook } from '../rollout/log-queries.ts'
import { faultTeller } from '../runtime/tell-fault.ts'
import type { JobContext } from '../runtime/worker.ts'
import { estimateAt, toldByOracle, toldEstimates } from './measured.ts'
import type { OpenedJudge } from './opened-judge.ts'
import { promptedJudgeBatch } from './prompted-batch.ts'

type Scored = EventData<'StepScored'>

/** Rollouts that are judged at a time. */
const JOBS_AT_A_TIME = 64

const AN_ESTIMATE = "the setting's own estimate does not learn"

export function openEnvironmentJudge(config: Config, opened: OpenSetting, log: LogClient): OpenedJudge {
  const { rewardModel } = config
  const causes = causesOf(opened.setting)
  const tasks = openTaskBook(log)
  const trajectories = trajectoryBook(log)

  async function judge(job: JudgeRollouts, context: JobContext): Promise<NewEvent[]> {
    const task = await tasks.find(job.task)
    const judged = await trajectories.find(
      job.iteration,
      job.rollouts.map(({ rollout }) => rollout),
    )
    const events: NewEvent[] = []
    for (const trajectory of judged) {
      const { rollout, iteration, actions } = trajectory
      const startedMs = performance.now()
      const tell = faultTeller(context)
      const estimates = rewardModel.oracle
        ? await toldByOracle(tell, opened, task, trajectory)
        : await toldEstimates(tell, opened, config, task, trajectory)
      const judgeMs = Math.round(performance.now() - startedMs)
      for (const step of actions.keys())
        events.push({
          type: 'StepScored',
          data: {
            ...{ rollout, iteration, step, task: job.task, rewardModelVersion: job.rewardModelVersion },
            ...verdictOn({ actions, step, progress: estimates.progress, task: job.task }, causes, {
              samples: rewardModel.samples,
              isWrong: isWrong(config, rollout, step, itemAt(actions, step)),
            }),
            ...estimateAt(estimates, step),
            ...(step === 0 ? { timing: { judgeMs } } : {}),
          },
        })
    }
    return events
  }

  /** Figures about the verdicts of an iteration, as those of a judge that learns. */
  async function figuresOf({ iteration, groups }: Train): Promise<Record<string, number>> {
    const judged = await readIteration(log, iteration, ['TrajectoryCompleted', 'StepScored'])
    const { TrajectoryCompleted: played, StepScored: scored } = judged
    return { ...promptedJudgeBatch(groups, played, scored, config).health }
  }

  return {
    note: `the estimate of the setting '${opened.setting.name}', without a model`,
    learner: fixedLearner(
      'reward-model',
      async () => ({}),
      async (job) => ({ metrics: await figuresOf(job), stopped: AN_ESTIMATE }),
    ),
    judge,
    concurrency: JOBS_AT_A_TIME,
    batchOf: null,
  }
}

/** Returns whether a verdict is to be wrong. Undefined if the config asks for no errors. */
function isWrong(
  { run, rewardModel }: Config,
  rollout: string,
  step: number,
  action: string,
): boolean | undefined {
  const { errors } = rewardModel
  if (!errors) return undefined
  const place = errors.by === 'step' ? [rollout, step] : [action]
  return rng(seedOf(run.seed, 'errors', ...place)).uniform() < errors.share
}

/**
 * Returns the verdict on a step, `samples` times the same. Its probability is the progress between 0 and 1, so a step is
 * good if it is worth more than half of the best one. A step that cannot be measured has no verdict. If the config asks for
 * errors (`isWrong` is given), the probability is 0 or 1. The verdict is the opposite if `isWrong` is true.
 */
export function verdictOn(
  {
    actions,
    step,
    progress,
    task,
  }: {
    readonly actions: readonly string[]
    readonly step: number
    readonly progress: Float32Array | null
    readonly task: string
  },
  causes: Causes,
  { samples, isWrong }: { readonly samples: number; readonly isWrong?: boolean | undefined },
): Pick<Scored, 'judgements' | 'probability' | 'progress'> {
  if (progress === null) return { judgements: [], probability: null, progress: null }
  const worth = itemAt(progress, step)
  const right = progressLabel(worth)
  const label = isWrong ? (-right as Label) : right
  const action = itemAt(actions, step)
  const word = causes.wordFor({ task, action, earlier: actions.slice(0, step), progress: worth, label })
  const judgement = {
    critique: critiqueText(causes, word, action),
    score: label,
    tokensI32: NOTHING,
    logprobsF32: NOTHING,
  }
  const probability = isWrong === undefined ? Math.min(1, Math.max(0, worth)) : Number(label === 1)
  return { judgements: Array.from({ length: samples }, () => judgement), probability, progress: worth }
}

const NOTHING = new Uint8Array()
