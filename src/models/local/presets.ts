import type { ModelConfig } from './config.ts'

/** Shapes of models that can be trained from scratch on a laptop. */
const PRESETS = {
  /** About 0.93 million weights with a vocabulary of 1,000. */
  tiny: { family: 'qwen2', hiddenSize: 128, intermediateSize: 352, layers: 4, heads: 4 },
  /**
   * About 0.2 million weights, for runs of minutes on a CPU. Two wide layers with norms on queries and keys imitate the expert better,
   * at equal time, than three narrow ones without.
   */
  nano: { family: 'qwen3', hiddenSize: 64, intermediateSize: 256, layers: 2, heads: 4 },
  /** About 0.29 million weights: `nano` with four layers. A judge that estimates what remains needs them. */
  nano4: { family: 'qwen3', hiddenSize: 64, intermediateSize: 256, layers: 4, heads: 4 },
} as const

export type PresetName = keyof typeof PRESETS

export const PRESET_NAMES = Object.keys(PRESETS) as PresetName[]

export function isPreset(name: string): name is PresetName {
  return Object.hasOwn(PRESETS, name)
}

/**
 * Returns a model config with the preset's family and sizes. Vocabulary and end token come from the tokenizer.
 * @example
 * const files = trainWordTokenizer({ words: ['go', 'north'] })
 * const { size, endToken } = createTokenizer(files)
 * const config = presetConfig('nano', { vocabSize: size, contextTokens: 512, endToken })
 */
export function presetConfig(
  name: PresetName,
  {
    vocabSize,
    contextTokens,
    endToken,
  }: { readonly vocabSize: number; readonly contextTokens: number; readonly endToken?: number },
): ModelConfig {
  const preset = PRESETS[name]
  return {
    ...preset,
    vocabSize,
    contextTokens,
    kvHeads: preset.heads,
    headDim: preset.hiddenSize / preset.heads,
    ropeTheta: 10_000,
    normEps: 1e-6,
    tiedHead: true,
    qkvBias: preset.family === 'qwen2',
    outputBias: false,
    qkNorm: preset.family === 'qwen3',
    bosToken: null,
    eosTokens: endToken === undefined ? [] : [endToken],
  }
}
