/** Types of `rlanything/projections`. `tsc --noEmit` is the test: an expected error that does not come is an error. */
import { defineTable, type Projection } from 'rlanything/projections'

const lengths = defineTable('lengths', ['iteration'], { iteration: 0, steps: 0 })

// @ts-expect-error a key is a column
defineTable('lengths', ['version'], { iteration: 0, steps: 0 })

// @ts-expect-error a column holds a text, a number or null
defineTable('lengths', ['iteration'], { iteration: 0, steps: [0] })

export const projection: Projection = {
  name: 'lengths',
  version: 1,
  tables: [lengths],
  interests: ['TrajectoryCompleted'],
  fold(open) {
    const table = open(lengths)
    return ({ type, data }) => {
      if (type !== 'TrajectoryCompleted') return
      const row = table.row(data.iteration)
      row.steps += data.steps
      // @ts-expect-error a column that the table does not have
      row.longest = data.steps
      // @ts-expect-error the data of another event
      data.version
    }
  },
}

export const unknown: Projection = {
  ...projection,
  // @ts-expect-error there is no such event
  interests: ['TrajectoryEnded'],
}
