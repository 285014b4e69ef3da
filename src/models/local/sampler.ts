/**
 * Samples many sequences at once. Sequences join and leave between steps. A prompt costs only the tokens that no cached sequence
 * shares with it. Each sequence draws from its own seed, so its tokens and log-probs depend on no other sequence.
 */
import { itemAt } from '../../item-at.ts'
import type { ModelConfig } from './config.ts'
import type { Decoder } from './decoder/decoder.ts'
import type { NumberTokens } from './open-places.ts'
import { createPrefixCache } from './prefix-cache.ts'
import { type BatchEntry, createSlotQueue } from './sampler/queue.ts'
import { checkRequest, type SampleRequest, type SampleResult } from './sampler/request.ts'
import { allowedIn, append, appendForced, drawingOf, drawOf, endOfRoom, openSlot } from './sampler/slot.ts'
import { type Draw, finite, topTokens } from './sampling.ts'

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
  /** Tokens of numbers, for choices with the open place of one. */
  readonly numbers?: NumberTokens | null
}

export function createSampler(
  config: ModelConfig,
  decoder: Decoder,
  { maxSequences = 256, chunkTokens = 1024, decode, numbers }: SamplerOptions,
): Sampler {
  const { contextTokens } = config
  const prefixes = createPrefixCache(decoder)
  const queue = createSlotQueue(decoder, prefixes, { maxSequences, chunkTokens })
  let running: Promise<void> | undefined

  /** Enters the result of a step: the drawn token, or the logits from which it is drawn here. */
  const enter = ({ slot, tokens, whole }: BatchEntry, result: Float32Array | Draw) => {
    slot.cache!.tokens.push(...tokens)
    if (!whole) return
    try {
      const isDrawn = !(result instanceof Float32Array)
      const draw = isDrawn ? finite(result) : drawOf(slot, result)
      const top = isDrawn ? [] : topTokens(result, slot.request.topLogprobs ?? 0, allowedIn(slot))
      const ending = append(slot, draw, top, contextTokens) ?? appendForced(slot, contextTokens)
      if (ending) queue.finish(slot, ending)
    } catch (error) {
      queue.fail(slot, error)
    }
  }
  const step = async () => {
    queue.failCancelled()
    queue.dropEnded()
    queue.admit()
    const batch = queue.nextBatch()
    if (batch.length === 0) return
    const entries = batch.map(({ slot, tokens, whole }) => ({
      sequence: slot.cache!.sequence,
      tokens,
      drawing: decoder.stepAndDraw && drawingOf(slot, whole),
    }))
    const results = await (decoder.stepAndDraw?.(entries) ?? decoder.step(entries))
    for (const [i, entry] of batch.entries()) enter(entry, itemAt(results, i))
    queue.dropEnded()
  }
  const run = async () => {
    // Requests that arrive together start together.
    await new Promise(setImmediate)
    while (!queue.isEmpty()) {
      try {
        await step()
      } catch (error) {
        queue.failActive(error)
        prefixes.clear()
      }
      // Here the thread receives messages: new requests and cancellations.
      await new Promise(setImmediate)
    }
    running = undefined
  }

  return {
    async submit(request, signal) {
      checkRequest(config, request)
      return await new Promise<SampleResult>((resolve, reject) => {
        const slot = openSlot(request, config, decode, { resolve, reject, signal }, numbers)
        const ending = endOfRoom(slot, contextTokens) ?? appendForced(slot, contextTokens)
        if (ending) return queue.finish(slot, ending)
        queue.add(slot)
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
