import type { RunConfig } from '../config-schema/sections.ts'

/** Returns how many iterations a run has, or null if its time or its steps decide. */
export function plannedIterations({ minutes, steps, iterations }: RunConfig): number | null {
  return minutes === undefined && steps === undefined ? iterations : null
}
