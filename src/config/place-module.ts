import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { sectionIn } from './with-setting.ts'

/**
 * Resolves a module that is named by a relative path: beside the config file, else in the working folder. The run's
 * processes may start elsewhere.
 */
export function placeModule(values: Record<string, unknown>, file: string | undefined): void {
  const section = sectionIn(values)
  if (typeof section?.module !== 'string' || !section.module.startsWith('.')) return
  const beside = file === undefined ? null : resolve(dirname(file), section.module)
  section.module = beside !== null && existsSync(beside) ? beside : resolve(section.module)
}
