/** Scripts in the place of models (provider `simulated`), for settings of texts: they answer, and do not learn. */
import type { RewardModelConfig } from '../../config-schema/sections.ts'
import { type OpenSetting, partOf, type Setting, type Texts } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { LogClient } from '../../events/log-client.ts'
import { A_SCRIPT, fixedLearner, scriptedPolicyLearner } from '../learner/fixed-learner.ts'
import { faultOf } from '../policy/acting.ts'
import type { OpenedPolicy } from '../policy/opened-policy.ts'
import type { OpenedJudge } from '../reward-model/opened-judge.ts'
import { type ActReply, type ActRequest, EMPTY_REPLY } from '../rollout/act.ts'
import { openTaskBook } from '../rollout/log-queries.ts'
import { readTests } from './read-tests.ts'
import { testJudgingOf, unitTestJudge, type WriteTests } from './unit-tests.ts'

/** @param accuracy share of right answers (`simulation.policyAccuracy`) */
export function openScriptedPolicy(
  accuracy: number,
  { setting, environment }: OpenSetting,
  log: LogClient,
): OpenedPolicy {
  const acting = partOf(setting, 'acting', 'a scripted policy') as Texts
  const tasks = openTaskBook(log)

  async function actOne({ task, seed }: ActRequest): Promise<ActReply> {
    if (!acting.scripted) throw noScript(setting, 'acting')
    const asked = await tasks.find(task)
    try {
      return { ...REPLY, action: await acting.scripted(environment, asked, accuracy, seed) }
    } catch (error) {
      return faultOf(error)
    }
  }

  return {
    note: `scripted, right with probability ${accuracy}`,
    learner: scriptedPolicyLearner(),
    act: (requests) => Promise.all(requests.map(actOne)),
  }
}

/**
 * @param accuracy share of right tests (`simulation.judgeAccuracy`)
 * @param seed that of the run
 */
export function openScriptedTestWriter(
  rewardModel: RewardModelConfig,
  { accuracy, seed: runSeed }: { readonly accuracy: number; readonly seed: number },
  opened: OpenSetting,
  log: LogClient,
): OpenedJudge {
  const { setting, environment } = opened
  const judging = testJudgingOf(setting)
  const write: WriteTests = async (task, _, seeds) =>
    Promise.all(
      seeds.map(async (seed) => {
        if (!judging.scripted) throw noScript(setting, 'judging')
        return {
          text: await judging.scripted(environment, task, accuracy, seed),
          tokens: null,
          logprobs: null,
        }
      }),
    )

  return {
    note: `scripted, right with probability ${accuracy}`,
    learner: fixedLearner(
      'reward-model',
      async () => ({}),
      async (job) => ({ metrics: { ...(await readTests(log, job, rewardModel)).health }, stopped: A_SCRIPT }),
    ),
    judge: unitTestJudge(opened, log, { write, samples: rewardModel.samples, seed: runSeed }),
    concurrency: 16,
    batchOf: null,
  }
}

function noScript({ name }: Setting, part: string): RlError {
  return new RlError(`the ${part} of the setting '${name}' has no script`, {
    code: 'setting.lacks',
    hint: 'use a provider other than simulated',
  })
}

const REPLY: ActReply = { ...EMPTY_REPLY, fits: true }
