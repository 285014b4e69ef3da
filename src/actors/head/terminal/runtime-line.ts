import type { Config } from '../../../config.ts'
import { openSetting } from '../../../environments/open.ts'
import type { StartOptions } from '../../start-options.ts'
import { isSimulated } from './summary.ts'

/** What the setting runs its tasks in here, tried out; null where it needs nothing, or its workers are elsewhere. */
export async function runtimeLine(
  config: Config,
  { roles }: Pick<StartOptions, 'roles'>,
): Promise<string | null> {
  if (!roles.includes('environment') || config.environment.player !== 'own' || isSimulated(config))
    return null
  const { setting, environment } = await openSetting(config)
  try {
    return (await setting.runtime?.(environment)) ?? null
  } finally {
    await environment.close?.()
  }
}
