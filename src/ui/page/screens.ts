/** The component of each screen. */
import type { Screen } from './frame.tsx'
import { Events } from './screens/events.tsx'
import { Iteration } from './screens/iteration.tsx'
import { Iterations } from './screens/iterations.tsx'
import { Overview } from './screens/overview.tsx'
import { Runs } from './screens/runs.tsx'
import { Trajectory } from './screens/trajectory.tsx'

export const SCREENS: Readonly<Record<string, Screen>> = {
  runs: Runs,
  overview: Overview,
  iterations: Iterations,
  iteration: Iteration,
  trajectory: Trajectory,
  events: Events,
}
