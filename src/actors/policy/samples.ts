/** Training samples of the policy from what stands in the log of an episode. */

import type { EventData } from '../../events/catalogue.ts'
import { readFloat32, readInt32 } from '../../events/columns.ts'
import { itemAt } from '../../item-at.ts'
import type { TrainingSample } from '../../models/port.ts'
import { allowedColumns, choicePath } from '../rollout/choices.ts'
import {
  type Codec,
  commandTokens,
  type EpisodeText,
  introTokens,
  observationTokens,
} from '../rollout/packing.ts'

type Segment = EventData<'TrajectoryCompleted'>['segments'][number]

/**
 * Returns a packed part of a trajectory with one advantage a step. Returns null if every step's advantage is 0. Tokens
 * of a step with advantage 0 are not trained.
 *
 * @param advantages [steps of the whole trajectory]
 * @param tellsSteps whether the sample says where its steps begin
 */
export function segmentSample(
  id: string,
  segment: Segment,
  advantages: ArrayLike<number>,
  tellsSteps = false,
): TrainingSample | null {
  const tokens = readInt32(segment.tokensI32)
  const starts = readInt32(segment.stepStartI32)
  const mask = Uint8Array.from(segment.maskU8)
  const values = new Float32Array(tokens.length)
  let trained = false
  for (const [i, start] of starts.entries()) {
    const advantage = advantages[segment.firstStep + i] ?? 0
    const end = starts[i + 1] ?? tokens.length
    for (let t = start; t < end; t++) {
      if (advantage === 0) mask[t] = 0
      else if (mask[t] === 1) {
        values[t] = advantage
        trained = true
      }
    }
  }
  if (!trained) return null
  return {
    id,
    tokens,
    mask,
    advantages: values,
    logprobs: readFloat32(segment.logprobsF32),
    ...(segment.allowedOffsetsI32 && segment.allowedI32
      ? { allowed: { offsets: readInt32(segment.allowedOffsetsI32), tokens: readInt32(segment.allowedI32) } }
      : {}),
    ...(tellsSteps ? { stepStarts: starts } : {}),
  }
}

/** An episode with the allowed actions of each step. */
export type Demonstration = EpisodeText & {
  readonly id: string
  /** [actions][commands] */
  readonly admissible: readonly (readonly string[])[]
}

/**
 * Returns a supervised sample that imitates every action of an episode, under the trie of the allowed actions. The
 * sample is cut to the context. Returns null if the first observation alone is longer.
 * @param tellsSteps whether the sample says where its steps begin
 */
export function demonstrationSample(
  codec: Codec,
  { id, goal, observations, actions, admissible }: Demonstration,
  contextTokens: number,
  tellsSteps = false,
): TrainingSample | null {
  const tokens = [...introTokens(codec, goal, itemAt(observations, 0)), codec.turn]
  if (tokens.length > contextTokens) return null
  const mask: number[] = tokens.map(() => 0)
  const allowed: (readonly number[])[] = tokens.map(() => [])
  const starts: number[] = []
  for (const [step, action] of actions.entries()) {
    const chosen = commandTokens(codec, action)
    const rest = [...observationTokens(codec, itemAt(observations, step + 1)), codec.turn]
    if (tokens.length + chosen.length + rest.length > contextTokens) break
    const path = choicePath(
      chosen,
      itemAt(admissible, step).map((command) => commandTokens(codec, command)),
    )
    starts.push(tokens.length)
    tokens.push(...chosen, ...rest)
    mask.push(...path.mask, ...rest.map(() => 0))
    allowed.push(...path.allowed, ...rest.map(() => []))
  }
  return {
    id,
    tokens: Int32Array.from(tokens),
    mask: Uint8Array.from(mask),
    advantages: Float32Array.from(mask),
    logprobs: new Float32Array(tokens.length),
    allowed: allowedColumns(allowed),
    ...(tellsSteps ? { stepStarts: Int32Array.from(starts) } : {}),
  }
}
