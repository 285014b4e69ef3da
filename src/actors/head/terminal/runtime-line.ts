import { isSimulated } from '../../../config/roles.ts'
import type { Config } from '../../../config.ts'
import { openSetting } from '../../../environments/open.ts'
import { executorsOf } from '../../executing/worker.ts'
import type { StartOptions } from '../../start-options.ts'

/**
 * Returns the runtime of the setting's tasks here, after a trial. Returns null if the setting needs none, or if its
 * workers are elsewhere. Executors report their own runtime.
 */
export async function runtimeLine(
  config: Config,
  { roles }: Pick<StartOptions, 'roles'>,
): Promise<string | null> {
  if (!roles.includes('environment') || config.environment.player !== 'own' || isSimulated(config))
    return null
  const executors = await executorsOf(config.environment)
  if (executors !== null) return `executors, ${executors} of them started here`
  const { setting, environment } = await openSetting(config)
  try {
    return (await setting.runtime?.(environment)) ?? null
  } finally {
    await environment.close?.()
  }
}
