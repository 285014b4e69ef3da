/** A reward model without a model for the coding setting: the problem's own tests, right or with a fault. It does not learn. */
import type { Config } from '../../config.ts'
import { scriptedUnitTest } from '../../environments/coding/family/unit-test.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import type { LogClient } from '../../events/log-client.ts'
import { unchangedVersion } from '../decider/fold.ts'
import type { Judge, Train } from '../decider/jobs.ts'
import { updatedEvents } from '../learner/checkpoints.ts'
import type { OpenedWorker } from '../runtime/worker.ts'
import { codingOf } from './coding-of.ts'
import { readTestHealth } from './test-health.ts'
import { unitTestJudge, type WriteTests } from './unit-tests.ts'

export function openScriptedTestWriter(config: Config, opened: OpenSetting, log: LogClient): OpenedWorker {
  const coding = codingOf(opened, 'judging')
  const { judgeAccuracy } = config.simulation
  const write: WriteTests = async (task, _, seeds) => {
    const { tests, examples } = await coding.problem(task)
    return seeds.map((seed) => ({
      text: scriptedUnitTest([...examples, ...tests], judgeAccuracy, seed),
      tokens: null,
      logprobs: null,
    }))
  }
  const { judge } = unitTestJudge(config, coding, log, { write })

  async function train(job: Train) {
    const unchanged = unchangedVersion(job.version, 'a script does not learn')
    return updatedEvents('reward-model', { ...unchanged, metrics: await readTestHealth(log, job, config) })
  }

  return {
    note: `scripted, right with probability ${judgeAccuracy}`,
    worker: {
      shared: new Set(['judge']),
      concurrency: 16,
      async perform({ kind, input }, { signal }) {
        if (kind === 'judge') return judge(input as Judge, signal)
        if (kind === 'train') return train(input as Train)
        return updatedEvents('reward-model', { ...unchangedVersion(0, ''), stopped: null })
      },
    },
  }
}
