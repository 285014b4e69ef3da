/** The writer of unit tests behind an endpoint: it writes by a prompt. Its weights live there, so nothing is trained here. */
import type { Config } from '../../config.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import type { LogClient } from '../../events/log-client.ts'
import { unchangedVersion } from '../decider/fold.ts'
import type { Judge, Train } from '../decider/jobs.ts'
import { callBudgetOf } from '../learner/call-budget.ts'
import { updatedEvents } from '../learner/checkpoints.ts'
import { createCounts, endpointOf, tryOut } from '../learner/endpoint.ts'
import { readPrompt } from '../learner/prompts.ts'
import type { OpenedWorker } from '../runtime/worker.ts'
import { readTestHealth } from './test-health.ts'
import { testJudgingOf, unitTestJudge, type WriteTests } from './unit-tests.ts'

/** Tasks that are judged at a time; the endpoint's own bound is that of its calls. */
const JOBS_AT_A_TIME = 16

export async function openEndpointTestWriter(
  config: Config,
  opened: OpenSetting,
  log: LogClient,
): Promise<OpenedWorker> {
  const { rewardModel, run } = config
  const { environment } = opened
  const judging = testJudgingOf(opened.setting)
  const model = await endpointOf(
    rewardModel,
    config,
    run.deadlines.scoringSeconds,
    callBudgetOf(log, 'reward-model', config),
  )
  const prompt = readPrompt(judging.prompt)
  const { temperature, topP, maxTokens } = rewardModel
  const invalid = createCounts()
  const write: WriteTests = async (task, _, seeds, signal) => {
    const messages = prompt.render({ problem: await judging.describe(environment, task) })
    const answers = await model.generate(
      seeds.map((seed) => ({ prompt: { messages }, maxTokens, temperature, topP, seed })),
      signal,
    )
    for (const { text } of answers) {
      const parsed = judging.read(environment, text)
      if ('reason' in parsed) invalid.add(`invalid: ${parsed.reason}`)
    }
    return answers
  }
  const { judge } = unitTestJudge(config, opened, log, { write, promptSha256: prompt.sha256 })

  async function firstVersion() {
    await tryOut(model)
    return updatedEvents('reward-model', unchangedVersion(0, null))
  }

  async function train(job: Train) {
    const unchanged = unchangedVersion(job.version, 'the weights live at the endpoint')
    return updatedEvents('reward-model', { ...unchanged, metrics: await readTestHealth(log, job, config) })
  }

  return {
    note: `${rewardModel.model} behind an endpoint, writing unit tests`,
    worker: {
      shared: new Set(['judge']),
      concurrency: JOBS_AT_A_TIME,
      async perform({ kind, input }, { signal }) {
        if (kind === 'cold-start') return firstVersion()
        return kind === 'judge' ? judge(input as Judge, signal) : train(input as Train)
      },
      counters: () => ({ ...model.counts?.(), ...invalid.counts() }),
      close: () => model.close(),
    },
  }
}
