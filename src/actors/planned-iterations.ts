import type { RunConfig } from '../config-schema/sections.ts'

/** Returns how many iterations a run has, or null if its time decides. */
export function plannedIterations({ minutes, iterations }: RunConfig): number | null {
  return minutes === undefined ? iterations : null
}
