/**
 * Samples many sequences at once. Sequences join and leave between steps. A prompt costs only the tokens that no cached sequence
 * shares with it. Each sequence draws from its own seed, so its tokens and log-probs depend on no other sequence.
 */
import { RlError } from '../../errors.ts'
import { type Rng, rng, type Seed } from '../../random.ts'
import type { FinishReason } from '../port.ts'
import { type ChoiceNode, choiceTrie } from './choices.ts'
import type { ModelConfig } from './config.ts'
import type { Decoder, StepEntry } from './decoder/decoder.ts'
import { growingText } from './growing-text.ts'
import { type Drawing, GREEDY } from './kernels/wgsl-draw.ts'
import { type CachedTokens, createPrefixCache, LEAST_SHARED } from './prefix-cache.ts'
import { type Draw, finite, sampleToken, topTokens } from './sampling.ts'
import { checkTokens } from './transformer.ts'

export type SampleRequest = {
  readonly prompt: Int32Array
  readonly maxTokens: number
  readonly temperature: number
  readonly topP: number
  readonly topK?: number
  readonly minP?: number
  readonly repetitionPenalty?: number
  readonly logprobs?: 'model' | 'sampling'
  /** In addition to the model's own end tokens. */
  readonly stopTokens: readonly number[]
  readonly stopTexts: readonly string[]
  readonly seed: Seed
  readonly choices?: readonly (readonly number[])[]
  readonly cacheKey?: string
  /** Number of likeliest tokens to return for each position. */
  readonly topLogprobs?: number
  /** Number of tokens that must fit behind the prompt. `maxTokens` is cut to the room left. */
  readonly roomFor?: number
  /** Called for every new token, also for forced ones. */
  readonly onToken?: (draw: Draw, top: readonly Draw[]) => void
}

export type SampleResult = {
  readonly tokens: Int32Array
  readonly logprobs: Float32Array
  readonly finish: FinishReason
  /** Index of the stop text that ended the generation. Null if none did. */
  readonly stopText: number | null
  /** Number of prompt tokens that were not computed again. */
  readonly cachedTokens: number
  readonly top: readonly (readonly Draw[])[]
}

export type Sampler = {
  /** @throws RlError `model.context`, `model.input` or `model.choices` if the request cannot be served */
  submit(request: SampleRequest, signal?: AbortSignal): Promise<SampleResult>
  /** Resolves when no request runs or waits. */
  idle(): Promise<void>
  /** Empties the cache after a change of the weights. Nothing may run meanwhile. */
  refresh(): void
  readonly cachedSequences: () => number
}

export type SamplerOptions = {
  /** Most sequences that advance together. */
  readonly maxSequences?: number
  /** Most prompt tokens of one step. A long prompt is computed in chunks between the tokens of others. */
  readonly chunkTokens?: number
  /** Returns the text of a few tokens, for stop texts. */
  readonly decode: (tokens: readonly number[]) => string
}

/** A request in progress. */
type Slot = {
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
  readonly top: (readonly Draw[])[]
  node: ChoiceNode | undefined
  cache: CachedTokens | undefined
  /** Null until the prompt's computation begins. */
  cachedTokens: number | null
}

export function createSampler(
  config: ModelConfig,
  decoder: Decoder,
  { maxSequences = 256, chunkTokens = 1024, decode }: SamplerOptions,
): Sampler {
  const prefixes = createPrefixCache(decoder)
  const waiting: Slot[] = []
  let active: Slot[] = []
  let running: Promise<void> | undefined

  const finish = (slot: Slot, reason: FinishReason, stopText: number | null = null) => {
    if (slot.cache) prefixes.release(slot.cache)
    slot.cache = undefined
    slot.resolve({
      tokens: Int32Array.from(slot.tokens),
      logprobs: Float32Array.from(slot.logprobs),
      finish: reason,
      stopText,
      cachedTokens: slot.cachedTokens ?? 0,
      top: slot.top,
    })
  }
  const fail = (slot: Slot, error: unknown) => {
    if (slot.cache) prefixes.close(slot.cache)
    slot.cache = undefined
    slot.reject(error)
  }

  /** Adds a token. Returns whether the sequence continues. */
  const append = (slot: Slot, draw: Draw, top: readonly Draw[]): boolean => {
    const { request, tokens } = slot
    tokens.push(draw.token)
    slot.logprobs.push(draw.logprob)
    if (request.topLogprobs) slot.top.push(top)
    request.onToken?.(draw, top)
    if (slot.endTokens.has(draw.token)) {
      finish(slot, 'stop')
      return false
    }
    if (slot.node) {
      slot.node = slot.node.children.get(draw.token)!
      if (slot.node.allowed.length === 0) {
        finish(slot, 'stop')
        return false
      }
    }
    const stopText = slot.stopText(draw.token)
    if (stopText >= 0) {
      finish(slot, 'stop', stopText)
      return false
    }
    return hasRoom(slot)
  }
  const hasRoom = (slot: Slot): boolean => {
    const { prompt, maxTokens } = slot.request
    if (slot.tokens.length < maxTokens && prompt.length + slot.tokens.length < config.contextTokens)
      return true
    finish(slot, 'length')
    return false
  }
  /** Adds the tokens that leave no choice. Returns false if the sequence has ended. */
  const takeForced = (slot: Slot): boolean => {
    while (slot.node?.allowed.length === 1) {
      const draw = { token: slot.node.allowed[0], logprob: 0 }
      if (!append(slot, draw, slot.request.topLogprobs ? [draw] : [])) return false
    }
    return true
  }

  const admit = () => {
    const later: Slot[] = []
    for (const slot of waiting.splice(0)) {
      if (slot.signal?.aborted) {
        slot.reject(slot.signal.reason)
        continue
      }
      try {
        if (active.length >= maxSequences || !begin(slot)) later.push(slot)
      } catch (error) {
        // The other requests still wait.
        fail(slot, error)
      }
    }
    waiting.unshift(...later)
  }
  /** Returns false if it is better to wait: for memory, or for a running sequence that computes the beginning of this prompt. */
  const begin = (slot: Slot): boolean => {
    const { prompt, cacheKey } = slot.request
    const known = prefixes.shared(prompt)
    const coming = ({ request, cache }: Slot) => {
      if ((cache?.tokens.length ?? 0) >= request.prompt.length) return false
      const shared = sharedPrefix(request.prompt, prompt)
      // Several samples of one prompt use copies, even if only few tokens are saved.
      const again = cacheKey === undefined && shared === prompt.length && shared >= LEAST_SHARED
      return shared >= known + (again ? 2 : LEAST_SHARED) && (cache?.tokens.length ?? 0) < shared
    }
    if (prompt.length >= known + 2 && active.some(coming)) return false
    slot.cache = prefixes.take(prompt, cacheKey)
    slot.cachedTokens ??= slot.cache.tokens.length
    if (active.length > 0 && !makeRoom([{ sequence: slot.cache.sequence, tokens: pending(slot) }])) {
      prefixes.release(slot.cache)
      slot.cache = undefined
      return false
    }
    active.push(slot)
    return true
  }
  const makeRoom = (batch: readonly StepEntry[]): boolean => {
    while (decoder.shortfall(batch) > 0) if (!prefixes.evict()) return false
    return true
  }

  /** Returns the next tokens of as many sequences as fit into memory, in order of arrival. */
  const nextBatch = () => {
    const batch: { slot: Slot; tokens: number[]; whole: boolean }[] = []
    let budget = chunkTokens
    for (const slot of active) {
      const rest = pending(slot)
      const tokens = rest.slice(0, Math.max(1, budget))
      budget -= tokens.length
      batch.push({ slot, tokens, whole: tokens.length === rest.length })
    }
    const entries = () => batch.map(({ slot, tokens }) => ({ sequence: slot.cache!.sequence, tokens }))
    while (!makeRoom(entries())) {
      const { slot } = batch.pop()!
      active.splice(active.indexOf(slot), 1)
      prefixes.close(slot.cache!)
      slot.cache = undefined
      if (batch.length === 0) {
        slot.reject(
          new RlError(
            `a sequence of ${slot.request.prompt.length + slot.tokens.length} tokens does not fit into the cache of ${decoder.capacity}`,
            { code: 'model.cache-full', hint: 'open the model with more cacheTokens' },
          ),
        )
        return batch
      }
      waiting.unshift(slot)
    }
    return batch
  }

  const step = async () => {
    for (const slot of active.filter(({ signal }) => signal?.aborted)) fail(slot, slot.signal?.reason)
    active = active.filter(({ cache }) => cache)
    admit()
    const batch = nextBatch()
    if (batch.length === 0) return
    const entries = batch.map(({ slot, tokens }) => ({ sequence: slot.cache!.sequence, tokens }))
    const results = decoder.stepAndDraw
      ? await decoder.stepAndDraw(entries.map((entry, i) => ({ ...entry, drawing: drawingOf(batch[i]) })))
      : await decoder.step(entries)
    batch.forEach(({ slot, tokens, whole }, i) => {
      slot.cache!.tokens.push(...tokens)
      if (!whole) return
      try {
        const { temperature, topP, topK, minP, topLogprobs = 0 } = slot.request
        const allowed = slot.node?.allowed
        const tempered = slot.request.logprobs === 'sampling'
        const options = { temperature, topP, topK, minP, allowed, repeated: repeatedTokens(slot), tempered }
        const result = results[i]
        const isDrawn = !(result instanceof Float32Array)
        const draw = isDrawn ? finite(result) : sampleToken(result, options, slot.random)
        const top = isDrawn ? [] : topTokens(result, topLogprobs, allowed)
        if (append(slot, draw, top)) takeForced(slot)
      } catch (error) {
        fail(slot, error)
      }
    })
    active = active.filter(({ cache }) => cache)
  }
  const run = async () => {
    // Requests that arrive together start together.
    await new Promise(setImmediate)
    while (active.length > 0 || waiting.length > 0) {
      try {
        await step()
      } catch (error) {
        for (const slot of active.splice(0)) fail(slot, error)
        prefixes.clear()
      }
      // Here the thread receives messages: new requests and cancellations.
      await new Promise(setImmediate)
    }
    running = undefined
  }

  return {
    async submit(request, signal) {
      check(config, request)
      // A choice ends at its own end, and at a stop token of the request.
      const endTokens = new Set([...(request.choices ? [] : config.eosTokens), ...request.stopTokens])
      return await new Promise<SampleResult>((resolve, reject) => {
        const slot: Slot = {
          request,
          endTokens,
          resolve,
          reject,
          signal,
          stopText: stopTextSearch(request.stopTexts, decode),
          tokens: [],
          logprobs: [],
          top: [],
          random: rng(request.seed),
          node: request.choices && choiceTrie(request.choices, config.eosTokens.at(0)),
          cache: undefined,
          cachedTokens: null,
        }
        if (!hasRoom(slot) || !takeForced(slot)) return
        waiting.push(slot)
        running ??= run()
      })
    },
    async idle() {
      while (running) await running
    },
    refresh() {
      prefixes.clear()
      decoder.refresh()
    },
    cachedSequences: prefixes.size,
  }
}

/** Returns how the device draws the next token, or undefined if the host needs the logits. The token of an incomplete prompt is not read. */
function drawingOf({ slot, whole }: { readonly slot: Slot; readonly whole: boolean }): Drawing | undefined {
  if (!whole) return GREEDY
  const { temperature, topP, topK = 0, minP = 0, topLogprobs = 0, repetitionPenalty = 1 } = slot.request
  if (slot.node || minP > 0 || topLogprobs > 0 || repetitionPenalty !== 1) return undefined
  const told = slot.request.logprobs === 'sampling' && temperature > 0 ? temperature : 1
  return { temperature, told, topP, topK, uniform: temperature > 0 ? slot.random.uniform() : 0 }
}

/** Returns the tokens that the repetition penalty affects, or undefined without a penalty. */
function repeatedTokens({ request: { prompt, repetitionPenalty = 1 }, tokens }: Slot) {
  if (repetitionPenalty === 1) return undefined
  return { tokens: new Set([...prompt, ...tokens]), penalty: repetitionPenalty }
}

/** Returns the tokens of the sequence that are not in the cache. There is at least one: the last token is computed only on demand. */
function pending({ request: { prompt }, tokens, cache }: Slot): number[] {
  const done = cache?.tokens.length ?? 0
  return done < prompt.length ? [...prompt.subarray(done), ...tokens] : tokens.slice(done - prompt.length)
}

function check(config: ModelConfig, request: SampleRequest): void {
  const { prompt, maxTokens, temperature, topP, choices } = request
  const { topK = 0, minP = 0, repetitionPenalty = 1, roomFor = 0 } = request
  const refuse = (message: string, hint: string) => {
    throw new RlError(message, { code: 'model.input', hint })
  }
  if (prompt.length === 0) refuse('the prompt has no tokens', 'give at least one')
  if (prompt.length + roomFor > config.contextTokens) {
    const behind = roomFor > 0 ? ` and ${roomFor} must fit behind it` : ''
    throw new RlError(
      `the prompt has ${prompt.length} tokens${behind}; the model's context length is ${config.contextTokens}`,
      {
        code: 'model.context',
        hint: 'shorten it; if the cache limits the context, raise policy.cacheMegabytes or --cache-megabytes',
      },
    )
  }
  if (!Number.isInteger(maxTokens) || maxTokens < 0)
    refuse(`maxTokens is ${maxTokens}`, 'give a whole number')
  if (!(temperature >= 0 && temperature < Number.POSITIVE_INFINITY))
    refuse(`temperature is ${temperature}`, 'give a number of at least 0')
  if (!(topP > 0 && topP <= 1)) refuse(`topP is ${topP}`, 'give a number above 0 and up to 1')
  if (!(Number.isInteger(topK) && topK >= 0)) refuse(`topK is ${topK}`, 'give a whole number; 0 keeps all')
  if (!(minP >= 0 && minP <= 1)) refuse(`minP is ${minP}`, 'give a number of 0 to 1')
  if (!(repetitionPenalty > 0)) refuse(`repetitionPenalty is ${repetitionPenalty}`, 'give a number above 0')
  checkTokens(config, prompt)
  for (const choice of choices ?? []) checkTokens(config, choice)
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

function sharedPrefix(a: Int32Array, b: Int32Array): number {
  const limit = Math.min(a.length, b.length)
  let i = 0
  while (i < limit && a[i] === b[i]) i++
  return i
}
