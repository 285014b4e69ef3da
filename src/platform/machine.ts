/** Facts on which the choices of this folder depend. Tests give them the facts of other machines. */
import { existsSync } from 'node:fs'

export type Machine = {
  /** Same as `process.platform`: `linux`, `darwin`, `win32`. */
  readonly platform: string
  /** Same as `process.arch`: `x64`, `arm64`. */
  readonly arch: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly exists: (path: string) => boolean
}

export const THIS_MACHINE: Machine = {
  platform: process.platform,
  arch: process.arch,
  env: process.env,
  exists: existsSync,
}
