/** A request in progress: its tokens so far, and when it ends. */
import { itemAt } from '../../../item-at.ts'
import { type Rng, rng } from '../../../random.ts'
import type { FinishReason } from '../../port.ts'
import { beginning, type ChoicePlace, isEnd, nextPlace } from '../choice-place.ts'
import { type ChoiceTokens, choiceTrie } from '../choices.ts'
import type { ModelConfig } from '../config.ts'
import { growingText } from '../growing-text.ts'
import { type Drawing, GREEDY } from '../kernels/wgsl-draw.ts'
import type { CachedTokens } from '../prefix-cache.ts'
import { type Draw, entropyOf, givenToken, type SamplingOptions, sampleToken } from '../sampling.ts'
import type { SampleRequest, SampleResult } from './request.ts'

export type Slot = {
  readonly request: SampleRequest
  readonly endTokens: ReadonlySet<number>
  readonly random: Rng
  readonly resolve: (result: SampleResult) => void
  readonly reject: (error: unknown) => void
  readonly signal: AbortSignal | undefined
  /** Returns the index of the stop text that a new token completes, or -1. */
  readonly stopText: (token: number) => number
  readonly tokens: number[]
  readonly logprobs: number[]
  /** Of each token if the request asks for them. */
  readonly entropies: number[]
  readonly top: (readonly Draw[])[]
  /** The place in the choices. Undefined if there are none. */
  place: ChoicePlace | undefined
  readonly textOf: (token: number) => string
  readonly endToken: number | undefined
  cache: CachedTokens | undefined
  /** Null until the prompt's computation begins. */
  cachedTokens: number | null
}

/** Why a sequence ends. `stopText` is the index of the stop text that ended it, or null. */
export type Ending = { readonly reason: FinishReason; readonly stopText: number | null }

type Callbacks = Pick<Slot, 'resolve' | 'reject' | 'signal'>

/** @param decode returns the text of a few tokens, for stop texts */
export function openSlot(
  request: SampleRequest,
  { eosTokens }: Pick<ModelConfig, 'eosTokens'>,
  decode: (tokens: readonly number[]) => string,
  callbacks: Callbacks,
  numbers: ChoiceTokens['numbers'] = null,
): Slot {
  return {
    ...callbacks,
    request,
    // A choice ends at its own end, and at a stop token of the request.
    endTokens: new Set([...(request.choices ? [] : eosTokens), ...request.stopTokens]),
    stopText: stopTextSearch(request.stopTexts, decode),
    tokens: [],
    logprobs: [],
    entropies: [],
    top: [],
    random: rng(request.seed),
    textOf: (token) => decode([token]),
    endToken: eosTokens.at(0),
    place: request.choices && beginning(choiceTrie(request.choices, { end: eosTokens.at(0), numbers })),
    cache: undefined,
    cachedTokens: null,
  }
}

/** Adds a token. Returns null if the sequence continues. */
export function append(slot: Slot, draw: Draw, top: readonly Draw[], contextTokens: number): Ending | null {
  const { request, tokens } = slot
  tokens.push(draw.token)
  slot.logprobs.push(draw.logprob)
  if (request.topLogprobs) slot.top.push(top)
  request.onToken?.(draw, top)
  if (slot.endTokens.has(draw.token)) return STOP
  if (slot.place) {
    slot.place = nextPlace(slot.place, draw.token, slot.endToken, slot.textOf)
    if (isEnd(slot.place)) return STOP
  }
  const stopText = slot.stopText(draw.token)
  return stopText >= 0 ? { reason: 'stop', stopText } : endOfRoom(slot, contextTokens)
}

const STOP: Ending = { reason: 'stop', stopText: null }

/** Returns null if there is room for another token. */
export function endOfRoom({ request, tokens }: Slot, contextTokens: number): Ending | null {
  const { prompt, maxTokens } = request
  if (tokens.length < maxTokens && prompt.length + tokens.length < contextTokens) return null
  return { reason: 'length', stopText: null }
}

/** Adds the tokens that leave no choice. Returns null if the sequence continues. */
export function appendForced(slot: Slot, contextTokens: number): Ending | null {
  while (slot.place?.node.allowed.length === 1) {
    const draw = { token: itemAt(slot.place.node.allowed, 0), logprob: 0 }
    if (slot.request.entropies) slot.entropies.push(0)
    const ending = append(slot, draw, slot.request.topLogprobs ? [draw] : [], contextTokens)
    if (ending) return ending
  }
  return null
}

export function resultOf(slot: Slot, { reason, stopText }: Ending): SampleResult {
  return {
    tokens: Int32Array.from(slot.tokens),
    logprobs: Float32Array.from(slot.logprobs),
    finish: reason,
    stopText,
    cachedTokens: slot.cachedTokens ?? 0,
    top: slot.top,
    entropies: Float32Array.from(slot.entropies),
  }
}

/** Returns the tokens of the sequence that are not in the cache. There is at least one: the last token is computed only on demand. */
export function pending({ request: { prompt }, tokens, cache }: Slot): number[] {
  const done = cache?.tokens.length ?? 0
  return done < prompt.length ? [...prompt.subarray(done), ...tokens] : tokens.slice(done - prompt.length)
}

/** Returns how the device draws the next token, or undefined if the host needs the logits. The token of an incomplete prompt is not read. */
export function drawingOf(slot: Slot, whole: boolean): Drawing | undefined {
  if (!whole) return GREEDY
  const { temperature, topP, topK = 0, minP = 0, topLogprobs = 0, repetitionPenalty = 1 } = slot.request
  if (
    slot.place ||
    slot.request.given ||
    slot.request.entropies ||
    minP > 0 ||
    topLogprobs > 0 ||
    repetitionPenalty !== 1
  )
    return undefined
  const told = slot.request.logprobs === 'sampling' && temperature > 0 ? temperature : 1
  return { temperature, told, topP, topK, uniform: temperature > 0 ? slot.random.uniform() : 0 }
}

/** Returns the tokens of which the next one is drawn, or undefined if all are allowed. */
export function allowedIn({ place }: Slot): Int32Array | undefined {
  return place && place.node.string === null ? place.node.allowed : undefined
}

/** Returns the tokens that the repetition penalty affects, or undefined without a penalty. */
function repeatedTokens({ request: { prompt, repetitionPenalty = 1 }, tokens }: Slot) {
  if (repetitionPenalty === 1) return undefined
  return { tokens: new Set([...prompt, ...tokens]), penalty: repetitionPenalty }
}

/** Draws the next token on the host, or takes the given one. */
export function drawOf(slot: Slot, logits: Float32Array): Draw {
  const options = samplingOf(slot)
  const given = slot.request.given?.[slot.tokens.length]
  if (slot.request.entropies) slot.entropies.push(entropyOf(logits, options.allowed))
  return given === undefined ? sampleToken(logits, options, slot.random) : givenToken(logits, given, options)
}

/** Returns how the host draws the next token. */
function samplingOf(slot: Slot): SamplingOptions {
  const { temperature, topP, topK, minP, logprobs } = slot.request
  const allowed = allowedIn(slot)
  return {
    temperature,
    topP,
    topK,
    minP,
    allowed,
    repeated: repeatedTokens(slot),
    tempered: logprobs === 'sampling',
  }
}

/** Returns a function that tells which stop text a new token completes. A token may be less than a character. */
function stopTextSearch(
  stopTexts: readonly string[],
  decode: (tokens: readonly number[]) => string,
): (token: number) => number {
  const longest = Math.max(0, ...stopTexts.map((text) => text.length))
  if (longest === 0) return () => -1
  const grown = growingText(decode)
  let tail = ''
  return function completed(token) {
    const text = tail + grown(token)
    tail = text.slice(Math.max(0, text.length - longest + 1))
    return stopTexts.findIndex((stop) => stop !== '' && text.includes(stop))
  }
}
