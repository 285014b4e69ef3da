/** Votes of a judge by what they are about. */
import { z } from 'zod'
import type { PlayedRollout } from './rules.ts'

/** Name of what a vote is about if nobody could read it. */
export const UNREADABLE = 'unreadable'

export const weightsOption = z
  .record(z.string().min(1), z.number().nonnegative())
  .default({})
  .describe('Weights of criteria by name. A criterion that is not named has 1.')

/** Good less bad votes of a step by criterion. Unreadable votes are in none. */
export function votesOf(
  { criteria, judgements }: Pick<PlayedRollout, 'criteria' | 'judgements'>,
  step: number,
): ReadonlyMap<string, number> {
  const votes = new Map<string, number>()
  for (const [j, criterion] of (criteria?.[step] ?? []).entries()) {
    const score = judgements[step]?.scores[j] ?? 0
    if (score !== 0 && criterion !== UNREADABLE) votes.set(criterion, (votes.get(criterion) ?? 0) + score)
  }
  return votes
}
