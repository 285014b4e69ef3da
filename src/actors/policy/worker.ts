/** The policy's worker, around what its provider opens. */
import { actingHint, policyWorkerOf } from '../../config/roles.ts'
import type { Config } from '../../config.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { LogClient } from '../../events/log-client.ts'
import { computeOf } from '../../models/local/model.ts'
import { providerOf } from '../../models/registry.ts'
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
  const { note, learner: own, act, services, ...parts } = await openPolicy(config, opened, log)
  const { policy, run } = config
  const isOutside = policy.trainer === 'external'
  const compute = providerOf(policy, config).trains ? computeOf(config) : null
  const outside = { section: policy, run, compute }
  const learner = isOutside ? trainedOutside(own, 'policy', policyBatchOf(config, log), outside) : own
  return {
    note: isOutside ? `${note}, trained outside` : note,
    worker: {
      ...parts,
      jobs: { 'cold-start': learner.begin, train: learner.update },
      services: { [ACT_SERVICE]: serveAct(act), ...services },
    },
  }
}

/** Loads only what the provider needs: a policy behind an endpoint holds no tensors. */
async function openPolicy(config: Config, opened: OpenSetting, log: LogClient): Promise<OpenedPolicy> {
  switch (policyWorkerOf(config, opened.setting)) {
    case 'scripted-writer':
      return (await import('../writing/scripted-writer.ts')).openScriptedPolicy(
        config.simulation.policyAccuracy,
        opened,
        log,
      )
    case 'scripted-chooser':
      return (await import('./scripted-worker.ts')).openScriptedChooser(opened, {
        accuracy: config.simulation.policyAccuracy,
        seed: config.run.seed,
      })
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
