/** The policy's worker, around what its provider opens. */
import { actingHint, policyWorkerOf } from '../../config/roles.ts'
import type { Config } from '../../config.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { LogClient } from '../../events/log-client.ts'
import { trainedOutside } from '../learner/ports.ts'
import { ACT_SERVICE, serveAct } from '../rollout/act-service.ts'
import type { OpenedWorker } from '../runtime/worker.ts'
import { policyBatchOf } from './batch-of.ts'
import type { OpenedPolicy } from './opened-policy.ts'

export async function openPolicyWorker(
  config: Config,
  opened: OpenSetting,
  log: LogClient,
): Promise<OpenedWorker> {
  const { note, learner: own, act, ...parts } = await openPolicy(config, opened, log)
  const isOutside = config.policy.trainer === 'external'
  const learner = isOutside ? trainedOutside(own, 'policy', policyBatchOf(config, log), config) : own
  return {
    note: isOutside ? `${note}, trained outside` : note,
    worker: {
      ...parts,
      jobs: { 'cold-start': learner.begin, train: learner.update },
      services: { [ACT_SERVICE]: serveAct(act) },
    },
  }
}

/** Loads only what the provider needs: a policy behind an endpoint holds no tensors. */
async function openPolicy(config: Config, opened: OpenSetting, log: LogClient): Promise<OpenedPolicy> {
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
