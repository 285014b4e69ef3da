/** Rollouts of a local model without a run: the player, prompts and seeds of the loop, in this process. */

import { actWith, type LocalActor } from '../actors/policy/local-acting.ts'
import { samplingOf } from '../actors/policy/sampling.ts'
import { createPlayer } from '../actors/rollout/player.ts'
import type { Config } from '../config.ts'
import type { Environment, Task } from '../environments/port.ts'
import { RlError } from '../errors.ts'
import type { EventData } from '../events/catalogue.ts'

type Request = EventData<'RolloutRequested'>
export type Trajectory = EventData<'TrajectoryCompleted'>
export type Wanted = { readonly request: Request; readonly task: Task }

/** Number of episodes that are played side by side. */
const LIVE = 256

export type PlayOptions = {
  readonly config: Config
  readonly environment: Environment
  readonly actor: LocalActor
  readonly signal: AbortSignal
  /** Called after every rollout with how many are over. */
  readonly onEnd?: (ended: number) => void
}

/**
 * Resolves to one trajectory each, in order, or null if the environment failed. Rejects with the signal's
 * reason if aborted.
 */
export async function playAlone(
  wanted: readonly Wanted[],
  { config, environment, actor, signal, onEnd }: PlayOptions,
): Promise<(Trajectory | null)[]> {
  const player = createPlayer({
    environment,
    act: (requests, stop) =>
      actWith(
        actor,
        requests,
        ({ evaluation }) => samplingOf(config, evaluation),
        AbortSignal.any([signal, stop]),
      ),
    actDeadlineMs: config.run.deadlines.stepSeconds * 1000,
  })
  const trajectories: (Trajectory | null)[] = wanted.map(() => null)
  let next = 0
  let ended = 0

  async function lane(): Promise<void> {
    while (next < wanted.length) {
      signal.throwIfAborted()
      const index = next++
      const { request, task } = wanted[index]
      try {
        trajectories[index] = await player.play(request, task)
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof RlError && error.code === 'rollout.env')) throw error
      }
      onEnd?.(++ended)
    }
  }

  await Promise.all(Array.from({ length: Math.min(LIVE, wanted.length) }, lane))
  return trajectories
}
