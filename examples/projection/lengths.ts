/** How long episodes are, by iteration and by how they ended. */
import { defineTable, type Projection } from 'rlanything/projections'

const lengths = defineTable('episode_lengths', ['iteration', 'success'], {
  iteration: 0,
  success: 0,
  episodes: 0,
  steps: 0,
  longest: 0,
})

const episodeLengths: Projection = {
  name: 'episode-lengths',
  // Raised when the table or the fold changes: the table is then built again from the first event.
  version: 1,
  tables: [lengths],
  interests: ['TrajectoryCompleted'],
  fold(open) {
    const table = open(lengths)
    return ({ type, data }) => {
      if (type !== 'TrajectoryCompleted' || data.outcome.kind !== 'scored') return
      const row = table.row(data.iteration, Number(data.outcome.success))
      row.episodes++
      row.steps += data.steps
      row.longest = Math.max(row.longest, data.steps)
    }
  },
}

export const projections = [episodeLengths]
