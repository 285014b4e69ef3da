/** The component of each screen. */
import type { Screen } from './frame.tsx'
import { Ablation } from './screens/ablation.tsx'
import { Actors } from './screens/actors.tsx'
import { Compare } from './screens/compare.tsx'
import { Events } from './screens/events.tsx'
import { Group } from './screens/group.tsx'
import { Iteration } from './screens/iteration.tsx'
import { Iterations } from './screens/iterations.tsx'
import { Judge } from './screens/judge.tsx'
import { Overview } from './screens/overview.tsx'
import { Problem } from './screens/problem.tsx'
import { Projections } from './screens/projections.tsx'
import { Runs } from './screens/runs.tsx'
import { Task } from './screens/task.tsx'
import { Tasks } from './screens/tasks.tsx'
import { Trajectory } from './screens/trajectory.tsx'
import { Version } from './screens/version.tsx'
import { Versions } from './screens/versions.tsx'

export const SCREENS: Readonly<Record<string, Screen>> = {
  runs: Runs,
  compare: Compare,
  ablation: Ablation,
  overview: Overview,
  iterations: Iterations,
  iteration: Iteration,
  group: Group,
  trajectory: Trajectory,
  problem: Problem,
  versions: Versions,
  version: Version,
  projections: Projections,
  judge: Judge,
  tasks: Tasks,
  task: Task,
  events: Events,
  actors: Actors,
}
