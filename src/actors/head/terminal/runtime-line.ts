import type { Config } from '../../../config.ts'
import { openSetting } from '../../../environments/open.ts'
import { executorsOf } from '../../executing/worker.ts'
import type { StartOptions } from '../../start-options.ts'
import { isSimulated } from './summary.ts'

/** What the setting runs its tasks in here, tried out; null where it needs nothing, or its workers are elsewhere. Executors say themselves what they have. */
export async function runtimeLine(
  config: Config,
  { roles }: Pick<StartOptions, 'roles'>,
): Promise<string | null> {
  if (!roles.includes('environment') || config.environment.player !== 'own' || isSimulated(config))
    return null
  const executors = await executorsOf(config)
  if (executors !== null) return `executors, ${executors} of them started here`
  const { setting, environment } = await openSetting(config)
  try {
    return (await setting.runtime?.(environment)) ?? null
  } finally {
    await environment.close?.()
  }
}
