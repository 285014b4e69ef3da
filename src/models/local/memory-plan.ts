import type { UpdateOptions } from '../port.ts'
import type { ModelConfig } from './config.ts'
import {
  assertFits,
  assertTensorsFit,
  LEAST_PASS,
  memoryLimit,
  memoryNeed,
  type Pass,
  type Passes,
  passesOf,
} from './memory.ts'
import { hasFusedKernels } from './ops.ts'

export type MemoryPlan = {
  /** @throws RlError `model.memory` if the model does not fit, or, if it will be trained, has no room for the smallest pass */
  readonly assertOpens: (trains: boolean) => void
  /**
   * Returns the passes of an update over samples of these lengths.
   * @throws RlError `model.memory` if the largest pass does not fit
   */
  readonly passesFor: (
    lengths: readonly number[],
    options: Pick<UpdateOptions, 'tokenBudget' | 'layers'>,
  ) => Passes
}

/**
 * Plans the memory of one model on the present backend. Its limit is what is free now, so a plan comes before any weight.
 * @param name of the model, for messages
 * @param trainable number of weights that training changes
 * @param mostSampleTokens tokens of the longest sample that can be trained
 */
export function planMemory({
  name,
  config,
  trainable,
  cacheBytes,
  mostSampleTokens,
  backend,
}: {
  readonly name: string
  readonly config: ModelConfig
  readonly trainable: number
  readonly cacheBytes: number
  readonly mostSampleTokens: number
  readonly backend: { readonly name: string; readonly mostTensorBytes: number | null }
}): MemoryPlan {
  const limit = memoryLimit(backend.name)
  const packs = backend.name === 'wasm'
  const needOf = (pass: { readonly tokens: number } & Pass) =>
    memoryNeed(config, { trainable, cacheBytes, packs, ...pass })
  const composed = (longest: number) => (hasFusedKernels() ? {} : { composedTokens: longest })

  return {
    assertOpens(trains) {
      assertTensorsFit(name, config, backend.mostTensorBytes)
      const tokens = Math.min(LEAST_PASS, mostSampleTokens)
      const need = trains
        ? needOf({ tokens, recompute: true, ...composed(tokens) })
        : memoryNeed(config, { trainable: 0, tokens: 0, cacheBytes, packs })
      assertFits(name, need, limit)
    },
    passesFor(lengths, { tokenBudget, layers: trainedLayers }) {
      const free = limit.bytes - needOf({ tokens: 0, recompute: false }).total
      const pass = { trainedLayers, ...composed(Math.max(0, ...lengths)) }
      const passes = passesOf(config, lengths, { tokenBudget, free, ...pass })
      const all = lengths.reduce((a, b) => a + b, 0)
      const tokens = Math.min(all, passes.mostTokens)
      assertFits(name, needOf({ tokens, recompute: tokens > passes.keptTokens, ...pass }), limit)
      return passes
    },
  }
}
