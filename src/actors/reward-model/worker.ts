/** The reward model's worker, by what its model is. */
import type { Config } from '../../config.ts'
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { OpenedWorker } from '../runtime/worker.ts'

/** Only what the provider needs is loaded: a judge behind an endpoint holds no tensors. */
export async function openRewardModelWorker(
  config: Config,
  opened: OpenSetting,
  log: LogClient,
): Promise<OpenedWorker> {
  const { mode, provider } = config.rewardModel
  const judging = mode === 'off' ? null : partOf(opened.setting, 'judging', `rewardModel.mode ${mode}`)
  if (judging?.by === 'tests') return openTestWriter(config, opened, log)
  if (mode !== 'off' && provider === 'openai')
    return (await import('./endpoint-worker.ts')).openEndpointJudge(config, opened, log)
  if (mode !== 'off' && provider !== 'local')
    throw new RlError(`rewardModel.provider ${provider} is not available`, {
      code: 'config.invalid',
      hint: 'use provider local or openai, or mode off',
    })
  if (mode !== 'off' && config.policy.provider !== 'local')
    throw new RlError('a local reward model starts from the weights of a local policy', {
      code: 'config.invalid',
      hint: 'use rewardModel.provider openai, or mode off',
    })
  return (await import('./local-worker.ts')).openLocalJudge(config, opened, log)
}

/** The reward model writes unit tests. */
async function openTestWriter(config: Config, opened: OpenSetting, log: LogClient): Promise<OpenedWorker> {
  switch (config.rewardModel.provider) {
    case 'simulated':
      return (await import('../coding/scripted-test-writer.ts')).openScriptedTestWriter(config, opened, log)
    case 'openai':
      return (await import('../coding/endpoint-test-writer.ts')).openEndpointTestWriter(config, opened, log)
    case 'local':
      return (await import('../coding/local-test-writer.ts')).openLocalTestWriter(config, opened, log)
  }
}
