import { RlError } from '../../errors.ts'
import type { ModelConfig } from './config.ts'
import { parameterCount } from './params.ts'

/** Bytes that a model needs in the tensor backend, in float32. */
export type MemoryNeed = {
  readonly weights: number
  /** Gradients and AdamW's two moments, where the model is trained. */
  readonly training: number
  /** The sampler's cache at its bound. */
  readonly cache: number
  readonly total: number
}

/** Keys and values of one token in all layers. */
export function cacheBytesPerToken({ layers, kvHeads, headDim }: ModelConfig): number {
  return 2 * 4 * layers * kvHeads * headDim
}

/**
 * @param trainable Number of trained weights: all, those of an adapter, or 0.
 * @param cacheBytes Bound of the sampler's cache.
 */
export function memoryNeed(config: ModelConfig, trainable: number, cacheBytes: number): MemoryNeed {
  const weights = 4 * parameterCount(config)
  const training = 12 * trainable
  return { weights, training, cache: cacheBytes, total: weights + training + cacheBytes }
}

/**
 * Refuses a model that cannot fit, before anything is loaded.
 * @param limit Bytes that the backend may use.
 * @throws RlError `model.memory` with the figures.
 */
export function assertFits(name: string, need: MemoryNeed, limit: { bytes: number; of: string }): void {
  if (need.total <= limit.bytes) return
  const mb = (bytes: number) => `${Math.ceil(bytes / 1e6).toLocaleString('en')} MB`
  throw new RlError(
    `${name} needs ${mb(need.total)} (weights ${mb(need.weights)}, training ${mb(need.training)}, cache ${mb(need.cache)}), ` +
      `${limit.of} has ${mb(limit.bytes)}`,
    {
      code: 'model.memory',
      hint: 'use a smaller model, an adapter (LoRA), a smaller cache or a GPU backend',
    },
  )
}

/** The WebAssembly heap ends near 2 GB; other backends in this process are bound by what the machine has left. */
export function memoryLimit(backend: string): { bytes: number; of: string } {
  const available = process.availableMemory()
  const wasm = backend.startsWith('wasm')
  if (wasm && available > 1.9e9) return { bytes: 1.9e9, of: 'the WebAssembly heap' }
  return { bytes: available, of: 'this machine' }
}
