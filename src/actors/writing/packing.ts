/** Packs a small model's question and its text or test: `question mark <|im_start|> answer <|im_end|>`. */
import { itemAt } from '../../item-at.ts'
import type { TrainableModel, TrainingSample } from '../../models/port.ts'

export type TextCodec = {
  readonly encode: (text: string) => readonly number[]
  /** The text of an answer's tokens, without its end token. */
  readonly decode: (tokens: ArrayLike<number>) => string
  /** Begins and ends an answer. */
  readonly begin: number
  readonly end: number
}

export function textCodec(model: Pick<TrainableModel, 'encode' | 'decode'>): TextCodec {
  const begin = itemAt(model.encode('<|im_start|>'), 0)
  const end = itemAt(model.encode('<|im_end|>'), 0)
  return {
    encode: (text) => Array.from(model.encode(text)),
    decode: (tokens) => model.decode(Array.from(tokens).filter((token) => token !== end)),
    begin,
    end,
  }
}

/**
 * Returns everything before the answer.
 *
 * @param what kind of answer, as a word of the vocabulary
 */
export function textPrompt(
  { encode, begin }: TextCodec,
  what: 'program' | 'test',
  question: string,
): number[] {
  return [...encode(question), ...encode(what), begin]
}

/** Returns an answer to learn from: imitated, or with an advantage. */
export function answerSample(
  id: string,
  prompt: readonly number[],
  answer: ArrayLike<number>,
  { advantage = 1, logprobs }: { readonly advantage?: number; readonly logprobs?: ArrayLike<number> } = {},
): TrainingSample {
  const tokens = Int32Array.from([...prompt, ...Array.from(answer)])
  const mask = new Uint8Array(tokens.length).fill(1, prompt.length)
  const sampled = new Float32Array(tokens.length)
  if (logprobs) sampled.set(logprobs, prompt.length)
  return {
    id,
    tokens,
    mask,
    advantages: new Float32Array(tokens.length).fill(advantage, prompt.length),
    logprobs: sampled,
  }
}
