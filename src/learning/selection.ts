import { type Seed, seedOf } from '../random.ts'

/**
 * The slots to sample in an iteration: `count` of those without a pending candidate, uniformly, without repetition.
 * Each slot draws its own number, so the choice among the others depends neither on their order nor on what is pending.
 * All available slots where there are fewer than `count`. Returned in order of their ids.
 */
export function selectSlots(
  slots: readonly string[],
  {
    pending,
    count,
    seed,
  }: { readonly pending: ReadonlySet<string>; readonly count: number; readonly seed: Seed },
): string[] {
  return slots
    .filter((slot) => !pending.has(slot))
    .map((slot) => ({ slot, draw: seedOf(seed, slot) }))
    .sort((a, b) => a.draw[0] - b.draw[0] || a.draw[1] - b.draw[1] || (a.slot < b.slot ? -1 : 1))
    .slice(0, count)
    .map(({ slot }) => slot)
    .sort()
}
