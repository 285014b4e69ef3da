import { RlError } from '../../errors.ts'
import type { ModelConfig } from './config.ts'
import { headBytes } from './head.ts'
import { parameterCount, paramShapes } from './params.ts'

/** Bytes that a model needs in the tensor backend, as float32. */
export type MemoryNeed = {
  readonly weights: number
  /** Gradients, their running sum and AdamW's two moments. 0 without training. */
  readonly training: number
  /** Memory of a micro-batch until its backward pass. */
  readonly activations: number
  /** Limit of the sampler's cache. */
  readonly cache: number
  /** A copy of the weights in the order in which kernels.wasm multiplies them. 0 if there is a BLAS. */
  readonly packed: number
  readonly total: number
}

/** Returns the bytes of one token's keys and values in all layers. */
export function cacheBytesPerToken({ layers, kvHeads, headDim }: ModelConfig): number {
  return 2 * 4 * layers * kvHeads * headDim
}

/**
 * Floats of one layer's results and their gradients for one token, measured as multiples of the widths. A fused kernel keeps its inputs.
 * A composition of operations also keeps all intermediate tensors.
 */
const KEPT = {
  fused: { hidden: 16, heads: 8, feedForward: 7 },
  composed: { hidden: 36, heads: 22, feedForward: 13 },
}

/** Floats of one score of composed attention with its share, gradients and copies, measured. */
const SCORE_FLOATS = 9

/** How a pass over a micro-batch is computed. */
export type Pass = {
  /** If true, layers keep only their inputs, and one layer at a time is computed again. */
  readonly recompute: boolean
  /** Number of topmost layers that are trained. Layers below them keep nothing. Default: all. */
  readonly trainedLayers?: number
  /** Tokens of the longest sequence, if the backend has no fused kernels. Attention scores exist for one layer at a time. */
  readonly composedTokens?: number
}

/** Returns the bytes that a backward pass takes for each token of a micro-batch. */
export function activationBytesPerToken(
  { layers, hiddenSize, heads, kvHeads, headDim, intermediateSize }: ModelConfig,
  { recompute, trainedLayers = layers, composedTokens }: Pass,
): number {
  const times = composedTokens === undefined ? KEPT.fused : KEPT.composed
  const attention = times.heads * (heads + kvHeads) * headDim
  const layer = times.hidden * hiddenSize + attention + times.feedForward * intermediateSize
  const kept = recompute ? layer + 2 * trainedLayers * hiddenSize : trainedLayers * layer
  // The backward pass of one layer takes as much again as the layer keeps.
  const between = composedTokens === undefined ? 0 : layer + SCORE_FLOATS * heads * composedTokens
  return 4 * (kept + between)
}

/** Returns the number of tokens of a micro-batch whose layers all fit into `bytes`. A quarter stays free for intermediate tensors. */
function keptTokens(config: ModelConfig, bytes: number, pass: Omit<Pass, 'recompute'>): number {
  const room = 0.75 * bytes - headBytes(config.vocabSize)
  return Math.max(0, Math.floor(room / activationBytesPerToken(config, { ...pass, recompute: false })))
}

/** Least tokens of a pass: each pass reads all weights. A model without room for this many is not trained. */
export const LEAST_PASS = 256

/** Returns the most tokens of a pass that fit into `bytes` if layers are computed again. */
function mostTokens(config: ModelConfig, bytes: number, pass: Omit<Pass, 'recompute'>): number {
  const room = bytes - headBytes(config.vocabSize)
  return Math.max(0, Math.floor(room / activationBytesPerToken(config, { ...pass, recompute: true })))
}

/** How the samples of an update are divided into passes. */
export type Passes = {
  /** Most tokens of a pass that keeps all layers. Longer passes compute them again. */
  readonly keptTokens: number
  /** Most tokens of a pass. A longer sample has a pass of its own. */
  readonly mostTokens: number
}

/**
 * Returns passes as large as the token budget or the free memory allows, and no smaller than the longest sample.
 * @param lengths number of tokens of each sample
 * @param free bytes that remain beside weights, cache, gradients and moments
 */
export function passesOf(
  config: ModelConfig,
  lengths: readonly number[],
  {
    tokenBudget,
    free,
    ...pass
  }: { readonly tokenBudget: number; readonly free: number } & Omit<Pass, 'recompute'>,
): Passes {
  const kept = keptTokens(config, free, pass)
  const room = Math.max(kept, mostTokens(config, free, pass), ...lengths)
  return { keptTokens: kept, mostTokens: Math.min(tokenBudget, room) }
}

/**
 * @param trainable number of trained weights: all, those of an adapter, or 0
 * @param cacheBytes limit of the sampler's cache
 * @param tokens tokens of a micro-batch; 0 without training
 * @param packs whether sampling has no BLAS and packs the weights
 */
export function memoryNeed(
  config: ModelConfig,
  {
    trainable,
    cacheBytes,
    tokens,
    packs = false,
    recompute = false,
    ...pass
  }: { trainable: number; cacheBytes: number; tokens: number; packs?: boolean } & Partial<Pass>,
): MemoryNeed {
  const weights = 4 * parameterCount(config)
  const training = 16 * trainable
  const activations =
    tokens === 0
      ? 0
      : tokens * activationBytesPerToken(config, { ...pass, recompute }) + headBytes(config.vocabSize)
  const packed = packs ? weights : 0
  return {
    weights,
    training,
    activations,
    packed,
    cache: cacheBytes,
    total: weights + training + activations + packed + cacheBytes,
  }
}

/**
 * Throws if the model does not fit, before any memory is taken.
 * @param limit bytes that the backend may use
 * @throws RlError `model.memory` with the figures
 */
export function assertFits(name: string, need: MemoryNeed, limit: { bytes: number; of: string }): void {
  if (need.total <= limit.bytes) return
  const mb = (bytes: number) => `${Math.ceil(bytes / 1e6).toLocaleString('en')} MB`
  const { weights, training, activations, packed, cache } = need
  const parts = Object.entries({ weights, training, activations, packed, cache }).filter(
    ([, bytes]) => bytes > 0,
  )
  throw new RlError(
    `${name} needs ${mb(need.total)} (${parts.map(([part, bytes]) => `${part} ${mb(bytes)}`).join(', ')}), ` +
      `${limit.of} has ${mb(limit.bytes)}`,
    { code: 'model.memory', hint: hintOf(need) },
  )
}

/** Returns how to make the largest part smaller. */
function hintOf({ training, activations, total }: MemoryNeed): string {
  if (training > total / 3)
    return 'train an adapter alone (policy.lora.rank), use a smaller model, or a backend that has more memory'
  if (activations > total / 3)
    return 'lower training.tokenBudget to the longest sample, train upper layers alone (training.layers), make samples shorter (policy.contextTokens, policy.historySteps), or use a smaller model or a GPU backend'
  return 'use a smaller model, a smaller cache (policy.cacheMegabytes) or a GPU backend'
}

/**
 * Throws if the model's largest weight exceeds the backend's largest tensor.
 * @throws RlError `model.memory` with the figures
 */
export function assertTensorsFit(name: string, config: ModelConfig, mostBytes: number | null): void {
  if (mostBytes === null) return
  for (const [weight, shape] of paramShapes(config)) {
    const bytes = 4 * shape.reduce((a, b) => a * b, 1)
    if (bytes > mostBytes)
      throw new RlError(
        `${name}: ${weight} takes ${Math.ceil(bytes / 1e6)} MB, one buffer of this GPU at most ${Math.floor(mostBytes / 1e6)} MB`,
        { code: 'model.memory', hint: 'use a smaller model, or another backend' },
      )
  }
}

/**
 * Returns the memory of a backend. The WebAssembly heap ends at 4 GiB, of which some is working memory. Others use the machine's free
 * memory.
 */
export function memoryLimit(backend: string): { bytes: number; of: string } {
  const available = process.availableMemory()
  const wasm = backend.startsWith('wasm')
  if (wasm && available > WASM_BYTES) return { bytes: WASM_BYTES, of: 'the WebAssembly heap' }
  return { bytes: available, of: 'this machine' }
}

const WASM_BYTES = 4e9
