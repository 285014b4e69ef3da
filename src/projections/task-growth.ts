/** How the task set grows: candidates proposed, accepted and rejected in each iteration. */
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
