/**
 * An episode as one token sequence that grows: `intro > command END observation > command END observation >`. The policy
 * continues it after each `>`; the prefix of every step is the whole of the step before, so it is computed once.
 */
import { compactCommand, compactIntro, compactObservation } from '../../environments/alfworld/compact-view.ts'

/** What stands in the log of an episode. */
export type EpisodeText = {
  readonly goal: string
  /** [actions + 1] */
  readonly observations: readonly string[]
  readonly actions: readonly string[]
}

/** Text to tokens, with the marks that packing needs. */
export type Codec = {
  readonly encode: (text: string) => readonly number[]
  /** Ends a generated command. */
  readonly end: number
  /** The policy's turn. */
  readonly turn: number
}

const END = '<|im_end|>'
const TURN = '>'
/** Most texts whose tokens are kept: observations and commands repeat all the time. */
const MEMORY = 20_000

export function codecOf(encode: (text: string) => ArrayLike<number>): Codec {
  const known = new Map<string, readonly number[]>()
  const remembered = (text: string): readonly number[] => {
    const old = known.get(text)
    if (old) return old
    const tokens = Array.from(encode(text))
    if (known.size >= MEMORY) known.clear()
    known.set(text, tokens)
    return tokens
  }
  const last = (text: string) => remembered(text)[remembered(text).length - 1]
  return { encode: remembered, end: last(END), turn: last(TURN) }
}

/** What is generated for a command: its words and the end token. */
export function commandTokens(codec: Codec, command: string): number[] {
  return [...codec.encode(compactCommand(command)), codec.end]
}

export function introTokens(codec: Codec, goal: string, observation: string): readonly number[] {
  return codec.encode(compactIntro(goal, observation))
}

export function observationTokens(codec: Codec, observation: string): readonly number[] {
  return codec.encode(compactObservation(observation))
}

/** Everything up to the policy's next turn. */
export function promptTokens(codec: Codec, { goal, observations, actions }: EpisodeText): number[] {
  const tokens = [...introTokens(codec, goal, observations[0]), codec.turn]
  for (const [step, action] of actions.entries())
    tokens.push(
      ...commandTokens(codec, action),
      ...observationTokens(codec, observations[step + 1]),
      codec.turn,
    )
  return tokens
}
