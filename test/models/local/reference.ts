/** An independent forward pass and loss in plain float64, written from the formulas, for comparison with the tensor code. */

import type { ModelConfig } from '../../../src/models/local/config.ts'
import type { PolicyLossOptions } from '../../../src/models/local/loss.ts'
import type { TrainingSample } from '../../../src/models/port.ts'

export type Weights = ReadonlyMap<string, Float64Array>
type Vector = number[]

/** Logits of every position of one sequence. */
export function referenceLogits(config: ModelConfig, weights: Weights, tokens: ArrayLike<number>): Vector[] {
  const { hiddenSize: d, headDim, heads, kvHeads, normEps } = config
  const get = (name: string) => {
    const found = weights.get(name)
    if (!found) throw new Error(name)
    return found
  }
  const linear = (x: Vector, module: string): Vector => {
    const w = get(`${module}.weight`)
    const bias = weights.get(`${module}.bias`)
    const out = w.length / x.length
    return Array.from({ length: out }, (_, o) => {
      let sum = bias ? bias[o] : 0
      for (let i = 0; i < x.length; i++) sum += w[o * x.length + i] * x[i]
      return sum
    })
  }
  const norm = (x: Vector, name: string): Vector => {
    const w = get(name)
    const mean = x.reduce((sum, v) => sum + v * v, 0) / x.length
    return x.map((v, i) => (v / Math.sqrt(mean + normEps)) * w[i])
  }
  const headsOf = (x: Vector, position: number, normName: string | null): Vector[] => {
    const parts: Vector[] = []
    for (let h = 0; h < x.length / headDim; h++) {
      const raw = x.slice(h * headDim, (h + 1) * headDim)
      const head = normName ? norm(raw, normName) : raw
      const half = headDim / 2
      parts.push(
        head.map((v, i) => {
          const angle = position * config.ropeTheta ** (-(2 * (i % half)) / headDim)
          const partner = i < half ? -head[i + half] : head[i - half]
          return v * Math.cos(angle) + partner * Math.sin(angle)
        }),
      )
    }
    return parts
  }
  const table = get('model.embed_tokens.weight')
  let x = Array.from(tokens, (id) => Array.from(table.subarray(id * d, (id + 1) * d)))
  for (let layer = 0; layer < config.layers; layer++) {
    const at = `model.layers.${layer}`
    const normed = x.map((row) => norm(row, `${at}.input_layernorm.weight`))
    const qNorm = config.qkNorm ? `${at}.self_attn.q_norm.weight` : null
    const kNorm = config.qkNorm ? `${at}.self_attn.k_norm.weight` : null
    const q = normed.map((row, t) => headsOf(linear(row, `${at}.self_attn.q_proj`), t, qNorm))
    const k = normed.map((row, t) => headsOf(linear(row, `${at}.self_attn.k_proj`), t, kNorm))
    const v = normed.map((row) => linear(row, `${at}.self_attn.v_proj`))
    x = x.map((row, t) => {
      const mixed: Vector = []
      for (let h = 0; h < heads; h++) {
        const g = Math.floor(h / (heads / kvHeads))
        const scores = Array.from({ length: t + 1 }, (_, j) => {
          const dot = q[t][h].reduce((sum, value, i) => sum + value * k[j][g][i], 0)
          return dot / Math.sqrt(headDim)
        })
        const top = Math.max(...scores)
        const shares = scores.map((s) => Math.exp(s - top))
        const total = shares.reduce((a, b) => a + b, 0)
        for (let i = 0; i < headDim; i++)
          mixed.push(shares.reduce((sum, p, j) => sum + (p / total) * v[j][g * headDim + i], 0))
      }
      const attended = linear(mixed, `${at}.self_attn.o_proj`)
      return row.map((value, i) => value + attended[i])
    })
    x = x.map((row) => {
      const inner = norm(row, `${at}.post_attention_layernorm.weight`)
      const gate = linear(inner, `${at}.mlp.gate_proj`)
      const up = linear(inner, `${at}.mlp.up_proj`)
      const down = linear(
        gate.map((value, i) => (value / (1 + Math.exp(-value))) * up[i]),
        `${at}.mlp.down_proj`,
      )
      return row.map((value, i) => value + down[i])
    })
  }
  const head = config.tiedHead ? 'model.embed_tokens' : 'lm_head'
  return x.map((row) => linear(norm(row, 'model.norm.weight'), head))
}

/** Log-softmax over the allowed tokens of each masked position: the log-prob of its token, 0 elsewhere. */
export function referenceLogprobs(
  config: ModelConfig,
  weights: Weights,
  { tokens, mask, allowed }: Pick<TrainingSample, 'tokens' | 'mask' | 'allowed'>,
): number[] {
  const logits = referenceLogits(config, weights, tokens)
  return Array.from(tokens, (token, t) => {
    if (!mask[t]) return 0
    const ids = allowed ? [...allowed.tokens.subarray(allowed.offsets[t], allowed.offsets[t + 1])] : []
    const z = ids.length > 0 ? ids.map((id) => logits[t - 1][id]) : logits[t - 1]
    const top = Math.max(...z)
    return logits[t - 1][token] - top - Math.log(z.reduce((sum, value) => sum + Math.exp(value - top), 0))
  })
}

/** Entropy of each masked position's distribution, 0 elsewhere. */
export function referenceEntropies(
  config: ModelConfig,
  weights: Weights,
  { tokens, mask }: Pick<TrainingSample, 'tokens' | 'mask'>,
): number[] {
  const logits = referenceLogits(config, weights, tokens)
  return Array.from(tokens, (_, t) => {
    if (!mask[t]) return 0
    const top = Math.max(...logits[t - 1])
    const shares = Array.from(logits[t - 1], (z) => Math.exp(z - top))
    const norm = shares.reduce((a, b) => a + b, 0)
    return shares.reduce((sum, share) => sum - (share > 0 ? (share / norm) * Math.log(share / norm) : 0), 0)
  })
}

/** The policy objective of a batch, token by token. */
export function referencePolicyLoss(
  logprobs: readonly (readonly number[])[],
  samples: readonly TrainingSample[],
  { clipLow, clipHigh, dualClip, klWeight, aggregate }: PolicyLossOptions,
): number {
  const perSample = samples.map((sample, s) => {
    const terms: number[] = []
    for (let t = 0; t < sample.tokens.length; t++) {
      if (!sample.mask[t]) continue
      const a = sample.advantages[t]
      const ratio = Math.exp(logprobs[s][t] - sample.logprobs[t])
      let objective = Math.min(ratio * a, Math.min(1 + clipHigh, Math.max(1 - clipLow, ratio)) * a)
      if (dualClip !== null && a < 0) objective = Math.max(objective, dualClip * a)
      const d = (sample.referenceLogprobs ?? sample.logprobs)[t] - logprobs[s][t]
      terms.push(-objective + klWeight * (Math.exp(d) - 1 - d))
    }
    return terms
  })
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
  if (aggregate === 'step') {
    const steps: number[][] = []
    for (const [s, { mask }] of samples.entries()) {
      const terms = [...perSample[s]]
      for (let t = 1; t < mask.length; t++) {
        if (!mask[t]) continue
        if (!mask[t - 1]) steps.push([])
        steps.at(-1)?.push(terms.shift()!)
      }
    }
    return sum(steps.map((terms) => sum(terms) / terms.length)) / steps.length
  }
  if (aggregate === 'batch') return sum(perSample.map(sum)) / sum(perSample.map((terms) => terms.length))
  return sum(perSample.map((terms) => sum(terms) / terms.length)) / perSample.length
}
