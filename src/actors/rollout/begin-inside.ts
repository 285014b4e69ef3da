/** Brings an episode to a step of a trajectory in the log, so that a rollout goes on from there. */
import type { Environment, Task } from '../../environments/port.ts'
import { RlError } from '../../errors.ts'
import type { EventData } from '../../events/catalogue.ts'
import { itemAt } from '../../item-at.ts'
import { seedOf } from '../../random.ts'
import { fault, type OpenEpisode } from './live-rollout.ts'
import type { StartedFrom } from './log-queries.ts'

/** @throws RlError `rollout.env` if the same actions lead elsewhere */
export async function beginInside(
  environment: Environment,
  task: Task,
  { start, maxSteps }: Pick<EventData<'RolloutRequested'>, 'start' | 'maxSteps'>,
  { trajectory, seed }: StartedFrom,
): Promise<OpenEpisode> {
  const step = Math.min(start?.step ?? 0, trajectory.steps)
  const observations = trajectory.observations.slice(0, step + 1)
  const actions = trajectory.actions.slice(0, step)
  try {
    let episode = await environment.reset(task, { seed: seedOf(seed, 'reset'), maxSteps })
    for (const action of actions) episode = await episode.step(action)
    if (episode.turn.done || episode.turn.observation !== itemAt(observations, step))
      throw new RlError('its actions lead to another state now', { code: 'rollout.env' })
    return { episode, observations, actions }
  } catch (cause) {
    throw fault('env', `task '${task.id}' cannot begin after step ${step} of ${trajectory.rollout}`, cause)
  }
}
