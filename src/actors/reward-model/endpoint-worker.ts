/** The reward model behind an endpoint: it judges by prompts. Its weights live there: a trainer outside makes its versions, or nobody does. */

import type { Config } from '../../config.ts'
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import { float32Column, int32Column } from '../../events/columns.ts'
import type { LogClient } from '../../events/log-client.ts'
import { itemAt } from '../../item-at.ts'
import type { GenerateRequest } from '../../models/port.ts'
import { providerOf } from '../../models/registry.ts'
import type { JudgeRollouts, Train } from '../decider/jobs.ts'
import { createCounts } from '../learner/endpoint.ts'
import { servedJudgeLearner } from '../learner/fixed-learner.ts'
import type { OutsideBatch } from '../learner/outside.ts'
import { readPrompt } from '../learner/prompts.ts'
import { reasoningText } from '../learner/reasoning.ts'
import { openServedModel } from '../learner/served-model.ts'
import { askFitting, isTooLong, SHORTENED, TOO_LONG } from '../learner/shortening.ts'
import { framesOf } from '../rollout/frames.ts'
import { openTaskBook, readIteration, trajectoryBook } from '../rollout/log-queries.ts'
import { faultTeller } from '../runtime/tell-fault.ts'
import type { JobContext } from '../runtime/worker.ts'
import { estimateAt, isMeasured, NO_ESTIMATES, toldEstimates } from './measured.ts'
import type { OpenedJudge } from './opened-judge.ts'
import { promptedJudgeBatch } from './prompted-batch.ts'
import {
  about,
  type Judged,
  judgeRequest,
  type PromptedJudging,
  readJudgement,
  shownSteps,
} from './prompted-judge.ts'

/** Number of trajectories that are judged at a time. The endpoint itself limits its calls. */
const JOBS_AT_A_TIME = 64

/** Prompts for settings without a prompt of their own. */
const PROMPT = 'judge'
const SEEING_PROMPT = 'screen-judge'
/** Prompt by which what was said next is the verdict. */
const NEXT_PROMPT = 'next-message'

export async function openEndpointJudge(
  config: Config,
  opened: OpenSetting,
  log: LogClient,
): Promise<OpenedJudge> {
  const { rewardModel, run, policy } = config
  const { setting, section } = opened
  const part = partOf(setting, 'judging', 'a judge behind an endpoint')
  const { scoringSeconds, llmCallSeconds } = run.deadlines
  const calling = { budgetSeconds: scoringSeconds, callSeconds: llmCallSeconds }
  const provider = providerOf(rewardModel, config)
  const served = await openServedModel('reward-model', rewardModel, provider, calling, log)
  const { samples, temperature, maxTokens, frames } = rewardModel
  const { topP } = rewardModel.expert
  const readsNext = rewardModel.reads === 'next-message'
  const prompt = readPrompt(readsNext ? NEXT_PROMPT : frames ? SEEING_PROMPT : (part.prompt ?? PROMPT))
  const judging: PromptedJudging = {
    prompt,
    temperature,
    topP,
    maxTokens,
    historySteps: policy.historySteps,
    ...(frames ? { brief: setting.pictures?.seeing(section)?.brief ?? ((action) => action) } : {}),
  }
  const tasks = openTaskBook(log)
  const trajectories = trajectoryBook(log)
  const counted = createCounts()

  /** Returns the subject of a judgement, or null for the step as a whole. */
  function criterionOf(index: number): string | null {
    const { criteria } = rewardModel
    return Array.isArray(criteria) ? itemAt(criteria, index % criteria.length) : null
  }

  async function judge(job: JudgeRollouts, context: JobContext): Promise<NewEvent[]> {
    const { signal } = context
    const tell = faultTeller(context)
    const startedMs = performance.now()
    const task = await tasks.find(job.task)
    const seeds = new Map(job.rollouts.map(({ rollout, seed }) => [rollout, seed]))
    const judged = await trajectories.find(job.iteration, [...seeds.keys()])
    const events = await Promise.all(
      judged.map(async (trajectory) => {
        const { rollout, iteration, observations, actions } = trajectory
        const episode = {
          goal: task.goal,
          observations,
          actions,
          ...(frames ? { frames: await framesOf(log, rollout) } : {}),
        }
        const judgements = await Promise.all(
          actions.flatMap((_, step) =>
            Array.from({ length: samples }, async (_, index) => {
              if (readsNext && (observations[step + 1] ?? '').trim() === '')
                return { ...NO_VERDICT, invalid: NOTHING_SAID }
              return judgeOne(job.rewardModelVersion, step, signal, (shown) =>
                about(
                  criterionOf(index),
                  judgeRequest(episode, seeds.get(rollout)!, judging, { step, index, shown }),
                ),
              )
            }),
          ),
        )
        const estimates = isMeasured(trajectory, rewardModel.expert.measuredRollouts, config)
          ? await toldEstimates(tell, opened, config, task, trajectory)
          : NO_ESTIMATES
        const judgeMs = Math.round(performance.now() - startedMs)
        return actions.map((_, step): NewEvent => {
          const own = judgements.slice(step * samples, (step + 1) * samples)
          return {
            type: 'StepScored',
            data: {
              rollout,
              iteration,
              step,
              task: task.id,
              rewardModelVersion: job.rewardModelVersion,
              ...entered(own),
              probability: null,
              ...estimateAt(estimates, step),
              promptSha256: prompt.sha256,
              ...(step === 0 ? { timing: { judgeMs } } : {}),
            },
          }
        })
      }),
    )
    return events.flat()
  }

  /**
   * Judges one step. If its prompt is too long for the model, it has no verdict, now or at any other attempt. The other
   * steps have theirs.
   */
  async function judgeOne(
    version: number,
    step: number,
    signal: AbortSignal,
    requestOf: (shown: number) => GenerateRequest,
  ): Promise<Judged> {
    try {
      const { generation, leftOut } = await askFitting(shownSteps(step, judging), requestOf, {
        fits: served.fits,
        generate: async (request) => itemAt(await served.generate(version, [request], signal), 0),
      })
      if (leftOut > 0) counted.add(SHORTENED)
      return readJudgement(generation)
    } catch (error) {
      if (!isTooLong(error)) throw error
      return { ...NO_VERDICT, invalid: TOO_LONG }
    }
  }

  /**
   * All judgements of a step have one prompt. If a judgement was told another prompt, its tokens are left out. Columns
   * of tokens hold no images.
   */
  function entered(judged: readonly Judged[]) {
    const prompt = frames
      ? null
      : (judged.find(({ promptTokens }) => promptTokens !== null)?.promptTokens ?? null)
    const judgements = judged.map(({ critique, score, invalid: kind, tokens, logprobs, ...told }, index) => {
      const criterion = criterionOf(index)
      if (kind !== null) counted.add(`invalid: ${kind}`)
      const known = tokens && logprobs && (prompt === null || sameTokens(prompt, told.promptTokens))
      return {
        critique,
        score,
        tokensI32: known ? int32Column(tokens) : NOTHING,
        logprobsF32: known ? float32Column(logprobs) : NOTHING,
        ...(known && told.reasoning ? { reasoningTokens: told.reasoning.tokens } : {}),
        ...(known ? {} : unlessCritique(critique, told)),
        ...(criterion === null ? {} : { criterion }),
      }
    })
    return { judgements, ...(prompt === null ? {} : { promptI32: int32Column(prompt) }) }
  }

  async function batchOf({ iteration, groups }: Train): Promise<OutsideBatch> {
    const judged = await readIteration(log, iteration, ['TrajectoryCompleted', 'StepScored'])
    const { TrajectoryCompleted: trajectories, StepScored: scored } = judged
    return promptedJudgeBatch(groups, trajectories, scored, config)
  }

  return {
    note: `${rewardModel.model} behind an endpoint`,
    learner: servedJudgeLearner(served.first, { temperature, topP }, batchOf),
    judge,
    concurrency: JOBS_AT_A_TIME,
    batchOf,
    counters: () => ({ ...served.counters(), ...counted.counts() }),
    close: () => served.close(),
  }
}

function sameTokens(a: Int32Array, b: Int32Array | null): boolean {
  return b !== null && a.length === b.length && a.every((token, i) => token === b[i])
}

/** Returns no reasoning if it is the critique itself: the model then said nothing before the verdict. */
function unlessCritique(critique: string, judged: Pick<Judged, 'reasoning'>) {
  const told = reasoningText(judged)
  return told.reasoning === critique ? {} : told
}

const NOTHING_SAID = 'nothing was said after it'
const NO_VERDICT = { critique: '', score: 0, tokens: null, logprobs: null, promptTokens: null } as const
const NOTHING = new Uint8Array()
