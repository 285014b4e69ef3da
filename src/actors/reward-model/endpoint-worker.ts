/** The reward model behind an endpoint: it judges by prompts. Its weights live there, so nothing is trained here. */
import type { Config } from '../../config.ts'
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import { float32Column, int32Column } from '../../events/columns.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { GenerateRequest } from '../../models/port.ts'
import { unchangedVersion } from '../decider/fold.ts'
import type { Judge, Train } from '../decider/jobs.ts'
import { callBudgetOf } from '../learner/call-budget.ts'
import { updatedEvents } from '../learner/checkpoints.ts'
import { createCounts, endpointOf, tryOut } from '../learner/endpoint.ts'
import { readPrompt } from '../learner/prompts.ts'
import { framesOf } from '../rollout/frames.ts'
import { openTaskBook, readIteration, trajectoryBook } from '../rollout/log-queries.ts'
import type { JobContext, OpenedWorker } from '../runtime/worker.ts'
import { judgementAdvantages } from './batch.ts'
import { isMeasured, progressOf } from './measured.ts'
import { type Judged, judgeRequests, type PromptedJudging, readJudgement } from './prompted-judge.ts'

/** Trajectories that are judged at a time; the endpoint's own bound is that of its calls. */
const JOBS_AT_A_TIME = 64

/** For settings without a prompt of their own. */
const PROMPT = 'judge'
const SEEING_PROMPT = 'screen-judge'

export async function openEndpointJudge(
  config: Config,
  opened: OpenSetting,
  log: LogClient,
): Promise<OpenedWorker> {
  const { rewardModel, run, policy } = config
  const { setting, section } = opened
  const part = partOf(setting, 'judging', 'a judge behind an endpoint')
  const model = await endpointOf(
    rewardModel,
    config,
    run.deadlines.scoringSeconds,
    callBudgetOf(log, 'reward-model', config),
    log.getBlob,
  )
  const { samples, temperature, topP, maxTokens, frames } = rewardModel
  const prompt = readPrompt(frames ? SEEING_PROMPT : (part.prompt ?? PROMPT))
  const judging: PromptedJudging = {
    ...{ prompt, samples, temperature, topP, maxTokens },
    historySteps: policy.historySteps,
    ...(frames ? { brief: setting.pictures?.seeing(section)?.brief ?? ((action) => action) } : {}),
  }
  const tasks = openTaskBook(log)
  const trajectories = trajectoryBook(log)
  const invalid = createCounts()

  async function judge(job: Judge, signal: AbortSignal): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const task = await tasks.find(job.task)
    const seeds = new Map(job.rollouts.map(({ rollout, seed }) => [rollout, seed]))
    const judged = await trajectories.find(job.iteration, [...seeds.keys()])
    const events = await Promise.all(
      judged.map(async (trajectory) => {
        const { rollout, iteration, seed, observations, actions } = trajectory
        const requests = judgeRequests(
          {
            goal: task.goal,
            observations,
            actions,
            ...(frames ? { frames: await framesOf(log, rollout) } : {}),
          },
          seeds.get(rollout)!,
          judging,
        )
        const judgements = await Promise.all(requests.map((request) => judgeOne(request, signal)))
        const progress = isMeasured(trajectory, config) ? await progressOf(opened, task, seed, actions) : null
        const judgeMs = Math.round(performance.now() - startedMs)
        return actions.map(
          (_, step): NewEvent => ({
            type: 'StepScored',
            data: {
              rollout,
              iteration,
              step,
              task: task.id,
              rewardModelVersion: job.rewardModelVersion,
              judgements: judgements.slice(step * samples, (step + 1) * samples).map(entered),
              probability: null,
              progress: progress ? progress[step] : null,
              promptSha256: prompt.sha256,
              ...(step === 0 ? { timing: { judgeMs } } : {}),
            },
          }),
        )
      }),
    )
    return events.flat()
  }

  /** A step whose prompt is too long for the model has no verdict, now or at any other attempt; the others have theirs. */
  async function judgeOne(request: GenerateRequest, signal: AbortSignal): Promise<Judged> {
    try {
      const [generation] = await model.generate([request], signal)
      return readJudgement(generation)
    } catch (error) {
      if (!(error instanceof RlError) || error.code !== 'model.context') throw error
      return { critique: '', score: 0, invalid: 'the prompt is too long', tokens: null, logprobs: null }
    }
  }

  function entered({ critique, score, invalid: kind, tokens, logprobs }: Judged) {
    if (kind !== null) invalid.add(`invalid: ${kind}`)
    const known = tokens && logprobs
    return {
      critique,
      score,
      tokensI32: known ? int32Column(tokens) : NOTHING,
      logprobsF32: known ? float32Column(logprobs) : NOTHING,
    }
  }

  async function firstVersion(): Promise<NewEvent[]> {
    await tryOut(model)
    return updatedEvents('reward-model', unchangedVersion(0, null))
  }

  /** What an update would have been made of is told all the same: it measures the judge. */
  async function train({ groups, iteration, version }: Train): Promise<NewEvent[]> {
    const judged = await readIteration(log, iteration, ['TrajectoryCompleted', 'StepScored'])
    const { TrajectoryCompleted: trajectories, StepScored: scored } = judged
    const { health } = judgementAdvantages(groups, trajectories, scored, config)
    return updatedEvents('reward-model', {
      ...unchangedVersion(version, 'the weights live at the endpoint'),
      metrics: { ...health },
    })
  }

  return {
    note: `${rewardModel.model} behind an endpoint`,
    worker: {
      shared: new Set(['judge']),
      concurrency: JOBS_AT_A_TIME,
      async perform({ kind, input }, { signal }: JobContext) {
        if (kind === 'cold-start') return firstVersion()
        return kind === 'judge' ? judge(input as Judge, signal) : train(input as Train)
      },
      counters: () => ({ ...model.counts?.(), ...invalid.counts() }),
      close: () => model.close(),
    },
  }
}

const NOTHING = new Uint8Array()
