import { ensureOpenBlas } from '../../../broker/find.ts'
import type { Config } from '../../../config.ts'
import { probeBackend } from '../../../models/local/backend/probe.ts'
import { computeOf } from '../../../models/local/model.ts'
import { providerOf } from '../../../models/registry.ts'
import { installHint } from '../../../platform/programs.ts'

/**
 * Returns the plan's line on the tensor backend, or null if no model runs here. Fetches OpenBLAS into the cache if that
 * is possible.
 */
export async function backendLine(config: Config, say: (line: string) => void): Promise<string | null> {
  const { policy, rewardModel } = config
  const judged = rewardModel.mode !== 'off' && providerOf(rewardModel, config).trains
  if (!providerOf(policy, config).trains && !judged) return null
  const blas = await ensureOpenBlas({ onStep: say })
  const { used, description } = await probeBackend(computeOf(config))
  if (blas !== null || !used.startsWith('wasm ')) return description
  return `${description}; without OpenBLAS models sample and train several times slower: ${installHint('openblas')}`
}
