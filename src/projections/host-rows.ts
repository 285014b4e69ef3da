/** View of the projection of hosts. */
import type { Database } from 'better-sqlite3'

export type HostFigures = {
  readonly host: string
  /** Place of its processes: hosts may share a name. Empty if the log does not tell it. */
  readonly place: string
  /** Rollouts for training that were played to their end. */
  readonly rollouts: number
  /** Rollouts that have no outcome. */
  readonly failed: number
  readonly trained: number
  /** Rollouts of completed iterations that no update was made of. */
  readonly dropped: number
  /** Number of trained rollouts by their age in policy versions. */
  readonly ages: Readonly<Record<string, number>>
  readonly meanAge: number | null
  readonly mostAge: number | null
  /** Importance weights of the trained tokens, before any limit. Null if no update weighed them. */
  readonly weights: {
    readonly tokens: number
    readonly mean: number
    readonly most: number
    /** Kish's effective sample size, in tokens: (sum of w)^2 / sum of w^2. */
    readonly effective: number
    /** Share of tokens whose weight was above the limit. */
    readonly cutShare: number
  } | null
}

type Stored = Pick<HostFigures, 'host' | 'place' | 'rollouts' | 'failed' | 'trained' | 'dropped'> & {
  readonly tokens: number
  readonly sum: number
  readonly squares: number
  readonly most: number
  readonly cut: number
}

/**
 * Returns figures by host. Hosts that failed or lost the most come first.
 *
 * @param most number of hosts, for a run of thousands
 */
export function hostRows(db: Database, most = -1): HostFigures[] {
  const rows = db
    .prepare(
      `SELECT host, place, rollouts, failed, trained, tokens, weight_sum AS sum, weight_squares AS squares,
              weight_most AS most, weights_cut AS cut, rollouts - trained -
                (SELECT count(*) FROM host_rollouts WHERE host_rollouts.place = hosts.place) AS dropped
       FROM hosts ORDER BY failed + dropped DESC, host, place LIMIT ?`,
    )
    .all(most) as Stored[]
  const ages = db.prepare('SELECT age, rollouts FROM host_ages WHERE place = ? ORDER BY age')
  return rows.map(({ host, place, rollouts, failed, trained, dropped, ...sums }) => {
    const own = ages.all(place) as { readonly age: number; readonly rollouts: number }[]
    const count = own.reduce((sum, one) => sum + one.rollouts, 0)
    const versions = own.reduce((sum, one) => sum + one.rollouts * one.age, 0)
    return {
      ...{ host, place, rollouts, failed, trained, dropped },
      ages: Object.fromEntries(own.map(({ age, rollouts }) => [age, rollouts])),
      meanAge: count === 0 ? null : versions / count,
      mostAge: own.at(-1)?.age ?? null,
      weights: weightsOf(sums),
    }
  })
}

type Sums = Pick<Stored, 'tokens' | 'sum' | 'squares' | 'most' | 'cut'>

function weightsOf({ tokens, sum, squares, most, cut }: Sums): HostFigures['weights'] {
  if (tokens === 0) return null
  const effective = squares === 0 ? 0 : sum ** 2 / squares
  return { tokens, mean: sum / tokens, most, effective, cutShare: cut / tokens }
}
