/** The policy's worker, by what its model is. */
import type { Config } from '../../config.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { LogClient } from '../../events/log-client.ts'
import { isPreset } from '../../models/local/presets.ts'
import { providerOf } from '../../models/registry.ts'
import type { OpenedWorker } from '../runtime/worker.ts'

/** Only what the provider needs is loaded: a policy behind an endpoint holds no tensors. */
export async function openPolicyWorker(
  config: Config,
  opened: OpenSetting,
  log: LogClient,
): Promise<OpenedWorker> {
  const { provider: name, acting, model } = config.policy
  const provider = providerOf(config.policy, config)
  const writes = opened.setting.acting?.kind === 'texts'
  if (provider.simulated && writes)
    return (await import('../writing/scripted-writer.ts')).openScriptedPolicy(config, opened, log)
  if (provider.simulated && acting === 'choices')
    return (await import('./scripted-worker.ts')).openScriptedChooser(config, opened)
  // A model that is trained from scratch reads no prompts.
  const readsPrompts = !writes && !isPreset(model)
  if (provider.trains && (readsPrompts || acting === (writes ? 'free' : 'choices')))
    return (await import('./local-worker.ts')).openLocalPolicy(config, opened, log)
  if (provider.open && acting !== 'choices')
    return (await import('./endpoint-worker.ts')).openEndpointPolicy(config, opened, log)
  throw new RlError(`policy.provider ${name} with acting ${acting} is not available`, {
    code: 'config.invalid',
    hint: writes
      ? 'use provider local, openai, simulated or one of yours with acting free'
      : 'use provider local or simulated with acting choices; local with a model folder, openai or one of yours with acting numbered or free',
  })
}
