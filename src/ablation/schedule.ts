/**
 * Chooses the next run: complete pairs first, several at a time, until all are done, the budget is used, or a
 * person stops.
 */
import type { Row } from './row.ts'
import type { Setting } from './settings.ts'

export type Planned = { readonly setting: Setting; readonly seed: number }

/**
 * Returns the planned runs seed by seed, so that existing rows form whole pairs. Runs that `rows` hold are
 * left out.
 */
export function plannedRuns(
  settings: readonly Setting[],
  seeds: number,
  rows: readonly Pick<Row, 'setting' | 'seed'>[],
): Planned[] {
  const there = new Set(rows.map(({ setting, seed }) => `${setting}/${seed}`))
  return Array.from({ length: seeds }, (_, index) => index + 1).flatMap((seed) =>
    settings.filter((setting) => !there.has(`${setting}/${seed}`)).map((setting) => ({ setting, seed })),
  )
}

export type ScheduleOptions = {
  /** Runs at a time. */
  readonly parallel: number
  /** Whether another run may still begin. */
  readonly mayBegin: () => boolean
  /** Whether a run has what it needs from others. Default: all have. */
  readonly isReady?: (run: Planned) => boolean
  readonly play: (run: Planned) => Promise<void>
}

/**
 * Plays the runs in their order. The first run of a seed makes the cold start that the seed's other runs take
 * from the cache. So these wait for it. Runs of other seeds need not wait. After the first error no run
 * begins. The error is thrown when all are over.
 */
export async function playAll(
  runs: readonly Planned[],
  { parallel, mayBegin, isReady = () => true, play }: ScheduleOptions,
): Promise<void> {
  const waiting = [...runs]
  const first = new Set<number>()
  const ready = new Set<number>()
  const active = new Set<Promise<void>>()
  let failure: unknown = null

  const next = () => waiting.findIndex((run) => (!first.has(run.seed) || ready.has(run.seed)) && isReady(run))

  async function one(run: Planned): Promise<void> {
    try {
      await play(run)
      ready.add(run.seed)
    } catch (error) {
      failure ??= error
    }
  }

  for (;;) {
    while (active.size < parallel && failure === null) {
      const index = next()
      if (index < 0 || !mayBegin()) break
      const [run] = waiting.splice(index, 1)
      if (run === undefined) break
      first.add(run.seed)
      const played = one(run).finally(() => active.delete(played))
      active.add(played)
    }
    if (active.size === 0) break
    await Promise.race(active)
  }
  if (failure !== null) throw failure
}
