/** Which tokens of an answer are trained. Policy, judge, test writer, gateway and batches all decide it here. */
import type { Generation, TrainingSample } from './port.ts'

/** Known tokens of an answer, from any source. */
export type ToldTokens = {
  /** Token ids of the rendered prompt. */
  readonly prompt: ArrayLike<number> | null | undefined
  /** Token ids of the answer. */
  readonly tokens: ArrayLike<number> | null | undefined
  /** [tokens] */
  readonly logprobs: ArrayLike<number> | null | undefined
  /** Number of first tokens that are reasoning. */
  readonly reasoningTokens?: number
}

/** A prompt with its answer. All arrays have the length of both together. */
export type TrainedAnswer = {
  readonly promptLength: number
  readonly tokens: Int32Array
  /** 1 if the token is trained. */
  readonly mask: Uint8Array
  /** 0 in the prompt. */
  readonly logprobs: Float32Array
}

export type Training = {
  readonly trainReasoning: boolean
  /** Number of prompt tokens that already precede these columns. */
  readonly from?: number
}

/** Returns null if nothing can be learned from the answer: ids or log-probs are missing, empty, of different lengths or no valid numbers. */
export function trainedAnswer(
  told: ToldTokens,
  { trainReasoning, from = 0 }: Training,
): TrainedAnswer | null {
  const { prompt, tokens: answer, logprobs: sampled, reasoningTokens = 0 } = told
  if (!prompt || !answer || !sampled || !isTold({ prompt, answer, sampled })) return null
  const promptLength = prompt.length - from
  if (promptLength < 0) return null
  const length = promptLength + answer.length
  const tokens = new Int32Array(length)
  for (let i = 0; i < promptLength; i++) tokens[i] = prompt[from + i]!
  tokens.set(answer, promptLength)
  const logprobs = new Float32Array(length)
  logprobs.set(sampled, promptLength)
  const untrained = trainReasoning ? 0 : Math.min(reasoningTokens, answer.length)
  return { promptLength, tokens, mask: new Uint8Array(length).fill(1, promptLength + untrained), logprobs }
}

type Columns = {
  readonly prompt: ArrayLike<number>
  readonly answer: ArrayLike<number>
  readonly sampled: ArrayLike<number>
}

function isTold({ prompt, answer, sampled }: Columns): boolean {
  const isLong = prompt.length > 0 && answer.length > 0 && sampled.length === answer.length
  return isLong && every(prompt, isId) && every(answer, isId) && every(sampled, Number.isFinite)
}

/** The kind of answers without token ids. */
export const NO_IDS = 'no token ids'

/**
 * Returns why nothing is learned from an answer, as a text for people. Returns null if something is. An empty list of ids counts as none.
 * @param asked the model's name in the request
 */
export function whyUntrainable(
  { finish, tokens, logprobs, promptTokens, otherModel }: Generation,
  asked: string,
): { readonly kind: string; readonly text: string } | null {
  const because = (kind: string, text: string) => ({ kind, text })
  if (finish === 'refused')
    return because(
      'refused',
      'it refused an answer, or a filter cut it: that is no action and no verdict, and nothing can be learned from it',
    )
  if (otherModel)
    return because(
      'other model',
      `it answers as '${otherModel}', but '${asked}' was asked: nothing can be learned from another model's answers; if both are the same model, use that name`,
    )
  if (otherModel === '' && promptTokens?.length)
    return because('no model', 'its answers do not name their model: nothing can be learned from them')
  if (!tokens?.length || !promptTokens?.length)
    return because(
      NO_IDS,
      'its answers have no token ids (return_token_ids): nothing can be learned from them',
    )
  if (!logprobs)
    return because('no log-probs', 'its answers have no log-probs: nothing can be learned from them')
  if (!isTold({ prompt: promptTokens, answer: tokens, sampled: logprobs }))
    return because(
      'wrong columns',
      'its token ids and log-probs do not belong together, or are invalid: nothing can be learned from them',
    )
  return null
}

/**
 * Returns whether a pass can take a sample: its lengths agree, a token precedes the first trained one, and ids and numbers are valid.
 * @param vocabulary number of token ids; unknown if absent
 */
export function isLearnable(
  { tokens, mask, advantages, logprobs, referenceLogprobs, allowed }: TrainingSample,
  vocabulary = Number.POSITIVE_INFINITY,
): boolean {
  const { length } = tokens
  if (length === 0 || mask[0] !== 0) return false
  const columns = [mask, advantages, logprobs, ...(referenceLogprobs ? [referenceLogprobs] : [])]
  if (columns.some((column) => column.length !== length)) return false
  if (!every(tokens, (token) => isId(token) && token < vocabulary)) return false
  if (allowed && allowed.offsets.length !== length + 1) return false
  for (let t = 0; t < length; t++) {
    if (mask[t] === 0) continue
    if (!Number.isFinite(logprobs[t]) || !Number.isFinite(advantages[t])) return false
    if (!isAllowed(allowed, t, tokens[t]!)) return false
  }
  return true
}

function isAllowed(allowed: TrainingSample['allowed'], t: number, token: number): boolean {
  if (!allowed) return true
  const ids = allowed.tokens.subarray(allowed.offsets[t], allowed.offsets[t + 1])
  return ids.length === 0 || ids.includes(token)
}

function isId(token: number): boolean {
  return Number.isInteger(token) && token >= 0
}

function every(values: ArrayLike<number>, is: (value: number) => boolean): boolean {
  for (let i = 0; i < values.length; i++) if (!is(values[i]!)) return false
  return true
}
