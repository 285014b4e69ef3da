/** The policy's worker, by what its model is. */
import { actingHint, policyWorkerOf } from '../../config/roles.ts'
import type { Config } from '../../config.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { OpenedWorker } from '../runtime/worker.ts'

/** Only what the provider needs is loaded: a policy behind an endpoint holds no tensors. */
export async function openPolicyWorker(
  config: Config,
  opened: OpenSetting,
  log: LogClient,
): Promise<OpenedWorker> {
  switch (policyWorkerOf(config, opened.setting)) {
    case 'scripted-writer':
      return (await import('../writing/scripted-writer.ts')).openScriptedPolicy(config, opened, log)
    case 'scripted-chooser':
      return (await import('./scripted-worker.ts')).openScriptedChooser(config, opened)
    case 'local':
      return (await import('./local-worker.ts')).openLocalPolicy(config, opened, log)
    case 'prompted':
      return (await import('./endpoint-worker.ts')).openEndpointPolicy(config, opened, log)
    case null: {
      const { provider, acting } = config.policy
      throw new RlError(`policy.provider ${provider} with acting ${acting} is not available`, {
        code: 'config.invalid',
        hint: actingHint(opened.setting),
      })
    }
  }
}
