/**
 * An episode as one token sequence that grows: `intro > command END observation > command END observation >`. The policy
 * continues it after each `>`; the prefix of every step is the whole of the step before, so it is computed once.
 */
import type { CompactView, OpenSetting } from '../../environments/setting.ts'

/** What stands in the log of an episode. */
export type EpisodeText = {
  readonly goal: string
  /** [actions + 1] */
  readonly observations: readonly string[]
  readonly actions: readonly string[]
}

/** Text to tokens, with the marks that packing needs. */
export type Codec = {
  /** The texts as they are packed. */
  readonly view: CompactView
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

/** Goal and all texts as they are. */
const WHOLE_VIEW: CompactView = {
  intro: (goal, observation) => `${goal} : ${observation}`,
  observation: (observation) => observation,
  command: (command) => command,
}

/** How the setting's texts are packed. */
export function viewOf({ setting: { acting }, environment }: OpenSetting): CompactView {
  return (acting?.kind === 'choices' ? acting.view?.(environment) : undefined) ?? WHOLE_VIEW
}

export function codecOf(encode: (text: string) => ArrayLike<number>, view: CompactView = WHOLE_VIEW): Codec {
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
  return { view, encode: remembered, end: last(END), turn: last(TURN) }
}

/** What is generated for a command: its words and the end token. */
export function commandTokens(codec: Codec, command: string): number[] {
  return [...codec.encode(codec.view.command(command)), codec.end]
}

export function introTokens(codec: Codec, goal: string, observation: string): readonly number[] {
  return codec.encode(codec.view.intro(goal, observation))
}

export function observationTokens(codec: Codec, observation: string): readonly number[] {
  return codec.encode(codec.view.observation(observation))
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
