import { spawnSync } from 'node:child_process'
import type { z } from 'zod'

/** A fault in a file that places a run. */
export type Fault = {
  /** Path from the folder that is checked. */
  readonly file: string
  readonly text: string
}

/** Returns what a program says if it fails, or null. With `silent`, anything that it prints is a fault. */
export function complaintOf(
  program: string,
  words: readonly string[],
  { silent = false, env }: { readonly silent?: boolean; readonly env?: NodeJS.ProcessEnv } = {},
): string | null {
  const ran = spawnSync(program, [...words], { encoding: 'utf8', env: { ...process.env, ...env } })
  const said = `${ran.stderr ?? ''}${silent ? (ran.stdout ?? '') : ''}`.trim()
  if (ran.error !== undefined) return ran.error.message
  if (ran.status === 0 && (!silent || said === '')) return null
  return said.split('\n').slice(0, 3).join(' | ') || `${program} ended with status ${ran.status}`
}

/** Returns a line for each issue of a failed check, with the path of its key. */
export function issuesOf({ issues }: z.core.$ZodError): readonly string[] {
  return issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`)
}
