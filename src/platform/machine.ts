/** What the choices of this folder depend on. Tests give them the facts of other machines. */
import { existsSync } from 'node:fs'

export type Machine = {
  /** As `process.platform` says: `linux`, `darwin`, `win32`. */
  readonly platform: string
  /** As `process.arch` says: `x64`, `arm64`. */
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
