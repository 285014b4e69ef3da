/** The writer of unit tests behind an endpoint: it writes by a prompt. Its weights live there: a trainer outside makes its versions, or nobody does. */

import type { RewardModelConfig, RunConfig } from '../../config-schema/sections.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import type { LogClient } from '../../events/log-client.ts'
import { itemAt } from '../../item-at.ts'
import type { Generation } from '../../models/port.ts'
import type { ModelProvider } from '../../models/provider.ts'
import type { Train } from '../decider/jobs.ts'
import { createCounts } from '../learner/endpoint.ts'
import { servedJudgeLearner } from '../learner/fixed-learner.ts'
import type { OutsideBatch } from '../learner/outside.ts'
import { readPrompt } from '../learner/prompts.ts'
import { openServedModel } from '../learner/served-model.ts'
import { askFitting, isTooLong, TOO_LONG } from '../learner/shortening.ts'
import type { OpenedJudge } from '../reward-model/opened-judge.ts'
import { toldSample } from '../reward-model/prompted-batch.ts'
import { readTests } from './read-tests.ts'
import { testJudgingOf, unitTestJudge, type WriteTests, type WrittenTest } from './unit-tests.ts'

/** Number of tasks that are judged at a time. The endpoint itself limits its calls. */
const JOBS_AT_A_TIME = 16

export async function openEndpointTestWriter(
  rewardModel: RewardModelConfig,
  provider: ModelProvider,
  { seed: runSeed, deadlines }: RunConfig,
  opened: OpenSetting,
  log: LogClient,
): Promise<OpenedJudge> {
  const { environment } = opened
  const judging = testJudgingOf(opened.setting)
  const { scoringSeconds, llmCallSeconds } = deadlines
  const calling = { budgetSeconds: scoringSeconds, callSeconds: llmCallSeconds }
  const served = await openServedModel('reward-model', rewardModel, provider, calling, log)
  const prompt = readPrompt(judging.prompt)
  const { temperature, maxTokens } = rewardModel
  const { topP } = rewardModel.expert
  const invalid = createCounts()
  const write: WriteTests = async (task, version, seeds, signal) => {
    const messages = prompt.render({
      problem: await judging.describe(environment, task),
      form: (await judging.form?.(environment, task)) ?? '',
    })
    const requests = seeds.map((seed) => ({ prompt: { messages }, maxTokens, temperature, topP, seed }))
    let answers: readonly Generation[]
    try {
      const asked = await askFitting(0, () => requests, {
        fits: (all) => served.fits(itemAt(all, 0)),
        generate: (all) => served.generate(version, all, signal),
      })
      answers = asked.generation
    } catch (error) {
      if (!isTooLong(error)) throw error
      // No part of the task can be left out. So nothing was written: no test, and no vote, now or at any other attempt.
      for (const _ of seeds) invalid.add(`invalid: ${TOO_LONG}`)
      return seeds.map(() => NOTHING_WRITTEN)
    }
    for (const { text } of answers) {
      const parsed = await judging.read(environment, text, task)
      if ('reason' in parsed) invalid.add(`invalid: ${parsed.reason}`)
    }
    return answers
  }

  async function batchOf(job: Train): Promise<OutsideBatch> {
    const { tests, health } = await readTests(log, job, rewardModel)
    const samples = tests.flatMap(({ id, test, advantage }) => {
      const sample = toldSample(id, test, advantage, rewardModel.expert)
      return sample === null ? [] : [{ ...sample, policyVersion: test.rewardModelVersion }]
    })
    const unknown = tests.length - samples.length
    return {
      samples,
      trainedOn: samples.map(({ id }) => id),
      health: { ...health, ...(unknown > 0 ? { untrainable: unknown } : {}) },
      none: unknown > 0 ? 'the endpoint tells no token ids and log-probs' : 'no unit test has an advantage',
    }
  }

  return {
    note: `${rewardModel.model} behind an endpoint, writing unit tests`,
    learner: servedJudgeLearner(served.first, { temperature, topP }, batchOf),
    judge: unitTestJudge(opened, log, {
      write,
      samples: rewardModel.samples,
      seed: runSeed,
      promptSha256: prompt.sha256,
    }),
    concurrency: JOBS_AT_A_TIME,
    batchOf,
    counters: () => ({ ...served.counters(), ...invalid.counts() }),
    close: () => served.close(),
  }
}

const NOTHING_WRITTEN: WrittenTest = { text: '', tokens: null, logprobs: null }
