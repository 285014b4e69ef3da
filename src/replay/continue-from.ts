/**
 * Brings an episode back to any of its steps. It is played again from its seed and compared with the record.
 */

import type { OpenEpisode } from '../actors/rollout/live-rollout.ts'
import type { Environment, Task } from '../environments/port.ts'
import { RlError } from '../errors.ts'
import type { EventData } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { itemAt } from '../item-at.ts'
import { seedOf } from '../random.ts'
import { trajectoryOf } from './why.ts'

type Trajectory = EventData<'TrajectoryCompleted'>

/** A rollout in the log: its request and its end. */
export type Recorded = {
  readonly request: EventData<'RolloutRequested'>
  readonly trajectory: Trajectory
  /** Id of the trajectory's event. */
  readonly id: string
  readonly position: number
}

/**
 * Returns a rollout that has an action `step`, counted from 0.
 * @throws RlError `whatif.unknown`, `whatif.no-step`
 */
export function recordedRollout(log: LogReader, rollout: string, step: number): Recorded {
  const played = trajectoryOf(log, rollout)
  const asked = log.byKey(`RolloutRequested/${rollout}`)
  if (!played || asked?.type !== 'RolloutRequested')
    throw new RlError(`run '${log.run}' has no trajectory '${rollout}'`, {
      code: 'whatif.unknown',
      hint: 'name a rollout such as 3/train-00012/5; rl log RUN export --type TrajectoryCompleted lists them',
    })
  const { steps } = played.data
  if (step >= steps)
    throw new RlError(`trajectory '${rollout}' has no step ${step}`, {
      code: 'whatif.no-step',
      hint: `its steps are 0 to ${steps - 1}`,
    })
  return { request: asked.data, trajectory: played.data, id: played.id, position: played.position }
}

/**
 * Resolves to the episode before action `step` (0 .. steps, with `steps` for its end), and the turns and
 * actions until there.
 * @throws RlError `whatif.other-state` with the first difference from the record; `whatif.not-deterministic` if
 *   the same actions need not lead to the same state
 */
export async function episodeAt(
  environment: Environment,
  task: Task,
  { request, trajectory }: Recorded,
  step: number,
): Promise<OpenEpisode> {
  const { rollout, steps, actions, observations } = trajectory
  if (environment.deterministic === false)
    throw new RlError(
      `trajectory '${rollout}' cannot be brought back to step ${step}: its environment is not deterministic`,
      {
        code: 'whatif.not-deterministic',
        hint: "the environment's section says deterministic: false; rl why tells what was recorded",
      },
    )
  let episode = await environment.reset(task, {
    seed: seedOf(request.seed, 'reset'),
    maxSteps: request.maxSteps,
  })
  for (let at = 0; ; at++) {
    compare(rollout, at, itemAt(observations, at), episode.turn.observation)
    if (at === step)
      return { episode, observations: observations.slice(0, at + 1), actions: actions.slice(0, at) }
    if (episode.turn.done)
      throw otherState(rollout, `after ${at} actions it is over, but ${steps} were recorded`)
    episode = await episode.step(itemAt(actions, at))
  }
}

function compare(rollout: string, at: number, recorded: string, now: string): void {
  if (recorded === now) return
  let same = 0
  while (same < Math.min(recorded.length, now.length) && recorded[same] === now[same]) same++
  throw otherState(
    rollout,
    `observation ${at} differs at character ${same}: ${excerpt(now, same)} now, ${excerpt(recorded, same)} recorded`,
  )
}

function excerpt(text: string, at: number): string {
  return JSON.stringify(text.slice(Math.max(0, at - 10), at + 40))
}

function otherState(rollout: string, what: string): RlError {
  return new RlError(`trajectory '${rollout}' cannot be brought back: ${what}`, {
    code: 'whatif.other-state',
    hint: 'play it with the games and the code of that run',
  })
}
