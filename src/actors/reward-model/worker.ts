/** The reward model's worker, around what its provider opens. */
import { judgeWorkerOf } from '../../config/roles.ts'
import type { Config } from '../../config.ts'
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { LogClient } from '../../events/log-client.ts'
import { computeOf } from '../../models/local/model.ts'
import { providerOf } from '../../models/registry.ts'
import { trainedOutside } from '../learner/ports.ts'
import type { OpenedWorker } from '../runtime/worker.ts'
import { withNotes } from './noted-steps.ts'
import type { OpenedJudge } from './opened-judge.ts'

export async function openRewardModelWorker(
  config: Config,
  opened: OpenSetting,
  log: LogClient,
): Promise<OpenedWorker> {
  const { note, learner: own, judge, batchOf, ...parts } = await openJudge(config, opened, log)
  const { rewardModel, environment, run } = config
  const isOutside = rewardModel.trainer === 'external' && batchOf !== null
  const compute = providerOf(rewardModel, config).trains ? computeOf(config) : null
  const outside = { section: rewardModel, run, compute }
  const learner = isOutside ? trainedOutside(own, 'reward-model', batchOf, outside) : own
  const judging = environment.player === 'gateway' ? withNotes(judge, log, rewardModel.samples) : judge
  return {
    note,
    worker: {
      ...parts,
      jobs: { 'cold-start': learner.begin, judge: judging, train: learner.update },
      shared: new Set(['judge']),
    },
  }
}

/** Loads only what the provider needs: a judge behind an endpoint holds no tensors. */
async function openJudge(config: Config, opened: OpenSetting, log: LogClient): Promise<OpenedJudge> {
  const { mode, provider } = config.rewardModel
  if (mode !== 'off') partOf(opened.setting, 'judging', `rewardModel.mode ${mode}`)
  switch (judgeWorkerOf(config, opened.setting)) {
    case 'scripted-test-writer':
      return (await import('../writing/scripted-writer.ts')).openScriptedTestWriter(
        config.rewardModel,
        { accuracy: config.simulation.judgeAccuracy, seed: config.run.seed },
        opened,
        log,
      )
    case 'prompted-test-writer':
      return (await import('../writing/endpoint-test-writer.ts')).openEndpointTestWriter(
        config.rewardModel,
        providerOf(config.rewardModel, config),
        config.run,
        opened,
        log,
      )
    case 'local-test-writer':
      return (await import('../writing/local-test-writer.ts')).openLocalTestWriter(config, opened, log)
    case 'prompted':
      return (await import('./endpoint-worker.ts')).openEndpointJudge(config, opened, log)
    case 'environment':
      return (await import('./environment-judge.ts')).openEnvironmentJudge(config, opened, log)
    case 'estimate':
      return (await import('../estimate/judge.ts')).openEstimateJudge(config, opened, log)
    case 'local':
    case 'off':
      return (await import('./local-worker.ts')).openLocalJudge(config, opened, log)
    case null:
      throw new RlError(`rewardModel.provider ${provider} is not available`, {
        code: 'config.invalid',
        hint: 'use provider local, openai or one of yours, or mode off',
      })
  }
}
