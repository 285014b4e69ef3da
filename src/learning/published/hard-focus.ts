import { z } from 'zod'
import type { GroupSize, TaskSampler } from '../rules.ts'
import { lowest, smoothedSuccess, uniform } from '../selection.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  from: z.int().positive().default(10).describe('First iteration that plays hard tasks alone.'),
  tasks: z.int().positive().default(8).describe('Number of the hardest tasks that are played from then on.'),
  groups: z.int().positive().max(16).default(4).describe('Number of last groups of a task that count.'),
  rollouts: z
    .int()
    .min(2)
    .default(64)
    .describe('Rollouts of each task from then on, if `environment.groupSize` names the rule too.'),
})

/**
 * Plays only the hardest tasks from an iteration on (DRIVE, 2511.06307). Before that it is `uniform`. A task whose last groups
 * were solved without a failure is none of them. `from` and `tasks` are choices of this project.
 */
export const hardFocus = tunable(
  options,
  ({ from, tasks, groups }): TaskSampler => ({
    name: 'hard-focus',
    version: 1,
    formula:
      'from iteration `from` on, the `tasks` slots of lowest p = (successes + 1) / (n + 2); before that as uniform',
    source: 'DRIVE, arXiv 2511.06307, paper; from and tasks are choices of this project',
    choose(slots, given) {
      if (given.iteration < from) return uniform.choose(slots, given)
      const open = slots.filter(({ history }) =>
        history.slice(-groups).some(({ successes, n }) => successes < n),
      )
      // Nothing is known to be hard: an iteration without tasks would teach nothing.
      if (open.length === 0) return uniform.choose(slots, given)
      return lowest(open, Math.min(given.count, tasks), ({ history }) => smoothedSuccess(history, groups))
    },
  }),
)

/** Gives the tasks of the sampler of this name many rollouts from the same iteration on. */
export const hardFocusSize = tunable(
  options,
  ({ from, rollouts }): GroupSize => ({
    name: 'hard-focus',
    version: 1,
    formula: 'n = `rollouts` from iteration `from` on, else N',
    source: 'DRIVE, arXiv 2511.06307, paper',
    size: (_, { iteration, rolloutsPerTask }) => (iteration < from ? rolloutsPerTask : rollouts),
  }),
)
