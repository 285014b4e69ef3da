/** Rollouts of a local model without a run: the player, prompts and seeds of the loop, in this process. */

import type { Sampling } from '../actors/policy/acting.ts'
import { actWith, type LocalActor } from '../actors/policy/local-acting.ts'
import { createPlayer } from '../actors/rollout/player.ts'
import type { Environment, Task } from '../environments/port.ts'
import { RlError } from '../errors.ts'
import type { EventData } from '../events/catalogue.ts'

type Request = EventData<'RolloutRequested'>
export type Trajectory = EventData<'TrajectoryCompleted'>
export type Wanted = { readonly request: Request; readonly task: Task }

/** Number of episodes that are played side by side. */
const LIVE = 256

export type PlayOptions = {
  /** How actions are sampled, in training or in evaluation. */
  readonly sampling: (evaluating: boolean) => Sampling
  /** Time that one step of an episode may take. */
  readonly stepMs: number
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
  { sampling, stepMs, environment, actor, signal, onEnd }: PlayOptions,
): Promise<(Trajectory | null)[]> {
  const player = createPlayer({
    environment,
    act: (requests, stop) =>
      actWith(actor, requests, ({ evaluation }) => sampling(evaluation), AbortSignal.any([signal, stop])),
    actDeadlineMs: stepMs,
  })
  const trajectories: (Trajectory | null)[] = wanted.map(() => null)
  const waiting = wanted.entries()
  let ended = 0

  async function lane(): Promise<void> {
    for (const [index, { request, task }] of waiting) {
      signal.throwIfAborted()
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
