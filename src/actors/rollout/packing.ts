/**
 * Packs an episode into one token sequence that grows: `intro > command END observation > command END observation >`.
 * The policy continues it after each `>`. The prefix of every step is the whole previous step, so it is computed once.
 */

import type { CompactView, OpenSetting } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import { itemAt } from '../../item-at.ts'
import type { Tokenizer } from '../../models/local/tokenizer.ts'

/** Texts of an episode in the log. */
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

/** Returns the view with which the setting's texts are packed. */
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
  const last = (text: string) => itemAt(remembered(text).slice(-1), 0)
  return { view, encode: remembered, end: last(END), turn: last(TURN) }
}

/** Texts whose places in a rendered chat are looked for. */
const [FIRST, ANSWER, NEXT] = ['first-words', 'an-answer', 'next-words'] as const

/**
 * Returns the codec of a model with a chat template. An episode is one chat, and its commands are the assistant's
 * turns. The template is asked once for the text between turns.
 *
 * @throws RlError `model.tokenizer` if the template's answers and turns do not end in tokens of their own
 */
export function chatCodec(
  tokenizer: Pick<Tokenizer, 'encode' | 'decode' | 'renderChat' | 'endToken'>,
  system: string,
): Codec {
  const { encode, decode, endToken } = tokenizer
  // A turn is a command or a letter, chosen at once: there is no room for thoughts.
  const renderChat = (messages: Parameters<Tokenizer['renderChat']>[0]) =>
    tokenizer.renderChat(messages, { variables: { enable_thinking: false } })
  const opening = (user: string) => [
    { role: 'system' as const, content: system },
    { role: 'user' as const, content: user },
  ]
  const intro = (user: string) => renderChat(opening(user))
  const chat = [
    ...opening(FIRST),
    { role: 'assistant' as const, content: ANSWER },
    { role: 'user' as const, content: NEXT },
  ]
  const [, behind = ''] = renderChat(chat).split(ANSWER)
  const [between = '', tail = ''] = behind.split(NEXT)
  const { encode: known } = codecOf((text) => encode(text))
  const turn = known(tail).at(-1) ?? -1
  const texts = { turn: decode([turn], { special: true }), end: decode([endToken ?? -1], { special: true }) }
  const withoutTurn = (text: string) => text.slice(0, text.length - texts.turn.length)
  const separable = [intro(FIRST), tail].every(
    (text) => [...known(withoutTurn(text)), turn].join() === known(text).join(),
  )
  if (endToken === undefined || !separable || !between.startsWith(texts.end))
    throw new RlError('the chat template does not end answers and turns in tokens of their own', {
      code: 'model.tokenizer',
      hint: 'let the model act by prompts: policy.acting numbered or free',
    })
  return {
    encode: known,
    end: endToken,
    turn,
    view: {
      // Games tell their task with the first observation mostly.
      intro: (goal, observation) =>
        withoutTurn(intro(observation.includes(goal) ? observation : `${observation}\n${goal}`)),
      observation: (text) => withoutTurn(`${between.slice(texts.end.length)}${text}${tail}`),
      command: (text) => text,
    },
  }
}

/** Returns the tokens that are generated for a command: its words and the end token. */
export function commandTokens(codec: Codec, command: string): number[] {
  return [...codec.encode(codec.view.command(command)), codec.end]
}

export function introTokens(codec: Codec, goal: string, observation: string): readonly number[] {
  return codec.encode(codec.view.intro(goal, observation))
}

export function observationTokens(codec: Codec, observation: string): readonly number[] {
  return codec.encode(codec.view.observation(observation))
}

/**
 * Everything up to the policy's next turn.
 *
 * @param hint words behind the first observation. Absent for none
 */
export function promptTokens(
  codec: Codec,
  { goal, observations, actions }: EpisodeText,
  hint?: string,
): number[] {
  const tokens = [...introTokens(codec, goal, itemAt(observations, 0)), codec.turn]
  if (hint !== undefined) tokens.splice(tokens.length - 1, 0, ...codec.encode(` ${hint}`))
  for (const [step, action] of actions.entries())
    tokens.push(
      ...commandTokens(codec, action),
      ...observationTokens(codec, itemAt(observations, step + 1)),
      codec.turn,
    )
  return tokens
}
