/** Figures of an update as they stand in its event. */
import type { EventData } from '../../events/catalogue.ts'
import { float32Column, int32Column } from '../../events/columns.ts'
import type { SampleWeights, UpdateMetrics } from '../../models/port.ts'

type Updated = EventData<'PolicyUpdated'>

/**
 * Returns the figures of an update, and why it stopped early.
 *
 * @param trainedOn rollouts of the batch. A sample is named after its rollout, e.g. `ROLLOUT#0`.
 */
export function updateFigures(
  { stopped, weights, ...metrics }: UpdateMetrics,
  trainedOn: readonly string[],
): Pick<Updated, 'metrics' | 'stopped' | 'weights'> {
  const figures =
    weights === undefined
      ? { metrics }
      : { metrics: { ...metrics, ...meanWeights(weights) }, weights: byRollout(weights, trainedOn) }
  if (stopped === null) return { ...figures, stopped }
  const where = stopped.sample === undefined ? '' : ` at ${stopped.sample}`
  return { ...figures, stopped: `${stopped.reason} ${stopped.value}${where}` }
}

/** The effective sample size is that of Kish, as a share of the tokens: (sum of w)^2 / (n x sum of w^2). */
function meanWeights(weights: readonly SampleWeights[]): Readonly<Record<string, number>> {
  const { tokens, sum, squares, most, cut } = weights.reduce(added, NONE)
  if (tokens === 0) return {}
  return {
    weightMean: sum / tokens,
    weightMost: most,
    effectiveShare: squares === 0 ? 0 : sum ** 2 / (tokens * squares),
    weightsCutShare: cut / tokens,
  }
}

type Sums = Omit<SampleWeights, 'id'>

const NONE: Sums = { tokens: 0, sum: 0, squares: 0, most: 0, cut: 0 }

function added(a: Sums, b: Sums): Sums {
  return {
    tokens: a.tokens + b.tokens,
    sum: a.sum + b.sum,
    squares: a.squares + b.squares,
    most: Math.max(a.most, b.most),
    cut: a.cut + b.cut,
  }
}

function byRollout(
  weights: readonly SampleWeights[],
  trainedOn: readonly string[],
): NonNullable<Updated['weights']> {
  const sums = new Map<string, Sums>()
  for (const one of weights) {
    const rollout = one.id.replace(/#\d+$/, '')
    sums.set(rollout, added(sums.get(rollout) ?? NONE, one))
  }
  const rows = trainedOn.map((rollout) => sums.get(rollout) ?? NONE)
  return {
    tokensI32: int32Column(rows.map(({ tokens }) => tokens)),
    sumF32: float32Column(rows.map(({ sum }) => sum)),
    squaresF32: float32Column(rows.map(({ squares }) => squares)),
    mostF32: float32Column(rows.map(({ most }) => most)),
    cutI32: int32Column(rows.map(({ cut }) => cut)),
  }
}
