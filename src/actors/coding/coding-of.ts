import type { CodingEnvironment } from '../../environments/coding/environment.ts'
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'

/** Problems, programs and tests of a setting whose part goes by programs. Errors: `setting.lacks`. */
export function codingOf(
  { setting, environment }: OpenSetting,
  part: 'acting' | 'judging',
): CodingEnvironment {
  const found = partOf(setting, part, 'writing programs and unit tests')
  if ('of' in found) return found.of(environment)
  throw new RlError(`the ${part} of the setting '${setting.name}' does not go by programs`, {
    code: 'setting.lacks',
  })
}
