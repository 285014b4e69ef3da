/** The reward model's worker, by what its model is. */
import type { Config } from '../../config.ts'
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { LogClient } from '../../events/log-client.ts'
import { providerOf } from '../../models/registry.ts'
import type { OpenedWorker } from '../runtime/worker.ts'

/** Only what the provider needs is loaded: a judge behind an endpoint holds no tensors. */
export async function openRewardModelWorker(
  config: Config,
  opened: OpenSetting,
  log: LogClient,
): Promise<OpenedWorker> {
  const { mode, provider: name } = config.rewardModel
  const provider = providerOf(config.rewardModel, config)
  const judging = mode === 'off' ? null : partOf(opened.setting, 'judging', `rewardModel.mode ${mode}`)
  if (judging?.by === 'tests') return openTestWriter(config, opened, log)
  if (mode !== 'off' && provider.open)
    return (await import('./endpoint-worker.ts')).openEndpointJudge(config, opened, log)
  if (mode !== 'off' && !provider.trains)
    throw new RlError(`rewardModel.provider ${name} is not available`, {
      code: 'config.invalid',
      hint: 'use provider local, openai or one of yours, or mode off',
    })
  return (await import('./local-worker.ts')).openLocalJudge(config, opened, log)
}

/** The reward model writes unit tests. */
async function openTestWriter(config: Config, opened: OpenSetting, log: LogClient): Promise<OpenedWorker> {
  const provider = providerOf(config.rewardModel, config)
  if (provider.simulated)
    return (await import('../writing/scripted-writer.ts')).openScriptedTestWriter(config, opened, log)
  if (provider.open)
    return (await import('../writing/endpoint-test-writer.ts')).openEndpointTestWriter(config, opened, log)
  return (await import('../writing/local-test-writer.ts')).openLocalTestWriter(config, opened, log)
}
