/** How the task set grows: candidates proposed, accepted and rejected in each iteration, and whether growth is linear. */
import type { Projection } from './projection.ts'
import { defineTable } from './table.ts'

const growthTable = defineTable('task_growth', ['iteration'], {
  iteration: 0,
  proposed: 0,
  /** Number of tasks for which no candidate could be made. */
  refused: 0,
  accepted: 0,
  accepted_harder: 0,
  rejected: 0,
  /** Number of rollouts of accepted candidates, and of their successes. */
  accepted_n: 0,
  accepted_successes: 0,
})

export const taskGrowth: Projection = {
  name: 'task-growth',
  version: 1,
  tables: [growthTable],
  interests: ['IterationCompleted', 'TaskProposed', 'TaskAccepted', 'TaskRejected'],
  fold(open) {
    const table = open(growthTable)
    return function applyTaskGrowth({ type, data }) {
      // An iteration without a decision is a point of the curve too.
      if (type === 'IterationCompleted') {
        if (data.iteration > 0) table.row(data.iteration)
      } else if (type === 'TaskProposed') table.row(data.iteration).proposed++
      else if (type === 'TaskAccepted') {
        const row = table.row(data.iteration)
        row.accepted++
        if (data.direction === 'harder') row.accepted_harder++
        row.accepted_n += data.accuracy.n
        row.accepted_successes += data.accuracy.successes
      } else if (type === 'TaskRejected') {
        const row = table.row(data.iteration)
        if (data.task === null) row.refused++
        else row.rejected++
      }
    }
  },
}

export type LinearFit = { readonly slope: number; readonly intercept: number; readonly r2: number }

/** Fits y = intercept + slope x by least squares, with R^2. Returns null for fewer than two different x. */
export function linearFit(points: readonly (readonly [x: number, y: number])[]): LinearFit | null {
  const n = points.length
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / n
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / n
  let xx = 0
  let xy = 0
  let yy = 0
  for (const [x, y] of points) {
    xx += (x - meanX) ** 2
    xy += (x - meanX) * (y - meanY)
    yy += (y - meanY) ** 2
  }
  if (n < 2 || xx === 0) return null
  const slope = xy / xx
  return { slope, intercept: meanY - slope * meanX, r2: yy === 0 ? 1 : xy ** 2 / (xx * yy) }
}
