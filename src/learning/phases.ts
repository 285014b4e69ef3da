/** Phases of a run (AceReason, 2505.16400): first one domain, then another, with a limit of steps that grows. */

export type Phase = { readonly from: number; readonly kinds?: readonly string[]; readonly maxSteps?: number }

/** Returns the phase of an iteration: the one that began last, or null before the first. */
export function phaseOf(phases: readonly Phase[] | undefined, iteration: number): Phase | null {
  const begun = (phases ?? []).filter(({ from }) => from <= iteration)
  return begun.reduce((last: Phase | null, one) => (last && last.from > one.from ? last : one), null)
}

/** Returns those of a phase's kinds, or all if there is none of them: an iteration without tasks would teach nothing. */
export function inPhase<T extends { readonly kind?: string }>(
  all: readonly T[],
  phase: Phase | null,
): readonly T[] {
  const { kinds } = phase ?? {}
  const own = kinds ? all.filter(({ kind }) => kind !== undefined && kinds.includes(kind)) : all
  return own.length > 0 ? own : all
}
