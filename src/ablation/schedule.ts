/**
 * Chooses the next run, several at a time: complete pairs first, but no run that waits for a start. It goes on until all are done,
 * the budget is used, or a person stops.
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
  /** Names of the cold starts that a run takes. Runs with a name in common share that start. Default: one for each seed. */
  readonly startsOf?: (run: Planned) => readonly string[]
  /** Plays a run, and calls `started` once the run's cold starts are made. */
  readonly play: (run: Planned, started: () => void) => Promise<void>
}

/**
 * Plays the runs in their order. The first run that takes a cold start makes it, and others take it from the
 * cache. So they wait until it is made, and runs with other starts take their place. After the first error no
 * run begins. The error is thrown when all are over.
 */
export async function playAll(
  runs: readonly Planned[],
  { parallel, mayBegin, isReady = () => true, startsOf = (run) => [policyStart(run)], play }: ScheduleOptions,
): Promise<void> {
  const waiting = [...runs]
  const begun = new Set<string>()
  const made = new Set<string>()
  const active = new Set<Promise<void>>()
  let failure: unknown = null
  let wake = () => {}

  const next = () =>
    waiting.findIndex(
      (run) => isReady(run) && startsOf(run).every((name) => !begun.has(name) || made.has(name)),
    )

  async function one(run: Planned): Promise<void> {
    const started = () => {
      for (const name of startsOf(run)) made.add(name)
      wake()
    }
    try {
      await play(run, started)
      started()
    } catch (error) {
      failure ??= error
    }
  }

  for (;;) {
    const woken = new Promise<void>((resolve) => {
      wake = resolve
    })
    while (active.size < parallel && failure === null) {
      const index = next()
      if (index < 0 || !mayBegin()) break
      const [run] = waiting.splice(index, 1)
      if (run === undefined) break
      for (const name of startsOf(run)) begun.add(name)
      const played = one(run).finally(() => active.delete(played))
      active.add(played)
    }
    if (active.size === 0) break
    await Promise.race([...active, woken])
  }
  if (failure !== null) throw failure
}

/** Returns the name of a policy's start: a seed has one. */
export function policyStart({ seed }: Pick<Planned, 'seed'>): string {
  return `policy ${seed}`
}
