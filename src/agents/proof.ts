/** Whether an agent got better: its held-out tasks before and after, in pairs. */
import type { LogReader } from '../events/log-reader.ts'
import { type Estimate, pairedDifference } from '../learning/interval.ts'

export type Proof = {
  readonly verdict: 'better' | 'no difference shown' | 'worse' | 'not measured'
  /** Tasks that were measured both times. */
  readonly tasks: number
  /** Mean of the outcomes' values over these tasks. */
  readonly before: number | null
  readonly after: number | null
  /** After less before, over the tasks in pairs, with its 95 % interval. */
  readonly difference: Estimate | null
  /** Newest version of the policy. */
  readonly version: number
  /** Measured rollouts whose agent failed. Each counts as 0: else a model that breaks its agent on hard tasks would look better. */
  readonly failed: number
  /** Measured rollouts that nobody graded. They are left out. */
  readonly ungraded: number
}

/**
 * Compares the first measurement of the held-out tasks with the last one.
 *
 * @param by whether outcomes are compared, or the mean verdicts of the reward model, brought to [0, 1]
 */
export function proofOf(log: LogReader, by: 'outcomes' | 'verdicts' = 'outcomes'): Proof {
  const measured = new Map<number, Map<string, number[]>>()
  const version = versionOf(log)
  let [failed, ungraded] = [0, 0]
  for (const { iteration, task, value } of measurements(log, by)) {
    if (value === 'failed') failed++
    if (value === 'ungraded') {
      ungraded++
      continue
    }
    const own = measured.get(iteration) ?? new Map<string, number[]>()
    measured.set(iteration, own)
    own.set(task, [...(own.get(task) ?? []), value === 'failed' ? 0 : value])
  }
  const iterations = [...measured.keys()].sort((a, b) => a - b)
  const [first, last] = [measured.get(iterations[0] ?? -1), measured.get(iterations.at(-1) ?? -1)]
  if (!first || !last || first === last) return { ...NOT_MEASURED, version, failed, ungraded }
  const pairs = [...first].flatMap(([task, values]) => {
    const later = last.get(task)
    return later ? [[mean(later), mean(values)] as const] : []
  })
  const difference =
    pairs.length > 0 ? pairedDifference(pairs.map(([after, before]) => [before, after])) : null
  return {
    verdict:
      difference === null
        ? 'not measured'
        : difference.low > 0
          ? 'better'
          : difference.high < 0
            ? 'worse'
            : 'no difference shown',
    tasks: pairs.length,
    before: mean(pairs.map(([, before]) => before)),
    after: mean(pairs.map(([after]) => after)),
    difference,
    version,
    failed,
    ungraded,
  }
}

const NOT_MEASURED = {
  verdict: 'not measured',
  tasks: 0,
  before: null,
  after: null,
  difference: null,
} as const

type Measurement = {
  readonly iteration: number
  readonly task: string
  readonly value: number | 'failed' | 'ungraded'
}

function* measurements(log: LogReader, by: 'outcomes' | 'verdicts'): Generator<Measurement> {
  if (by === 'verdicts') {
    for (const { data } of log.events({ types: ['TrajectoryJudged'] }))
      if (data.purpose === 'evaluation') yield { ...data, value: (1 + data.meanVerdict) / 2 }
    return
  }
  for (const { type, data } of log.events({ types: ['TrajectoryCompleted', 'RolloutFailed'] })) {
    const { iteration, task } = data
    if (data.purpose !== 'evaluation') continue
    if (type === 'TrajectoryCompleted')
      yield { iteration, task, value: data.outcome.kind === 'scored' ? data.outcome.value : 'ungraded' }
    // Other causes are faults of the machinery, and tell nothing.
    else yield { iteration, task, value: data.cause === 'agent' ? 'failed' : 'ungraded' }
  }
}

function versionOf(log: LogReader): number {
  const newest = log.newest(['PolicyUpdated'])
  return newest?.type === 'PolicyUpdated' ? newest.data.version : 0
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
}
