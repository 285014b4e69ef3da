/** Chooses the next token from logits, on the host. So no backend's randomness or order of sums has an effect. */
import { RlError } from '../../errors.ts'
import type { Rng } from '../../random.ts'

export type SamplingOptions = {
  /** 0 is greedy. */
  readonly temperature: number
  /** Whether log-probs have the temperature of the draw instead of 1. */
  readonly tempered?: boolean
  /** Nucleus sampling (arXiv 1904.09751, section 3.1). */
  readonly topP: number
  /** 0 keeps all. */
  readonly topK?: number
  /** 0 keeps all. */
  readonly minP?: number
  /** Only these tokens are allowed. Default: all. */
  readonly allowed?: Int32Array
  /** Earlier tokens and their penalty (CTRL, arXiv 1909.05858, section 4.1). */
  readonly repeated?: { readonly tokens: ReadonlySet<number>; readonly penalty: number }
}

export type Draw = {
  readonly token: number
  /** Log softmax of the logits over the allowed tokens, before any cut, as a float32. The temperature is 1 unless `tempered` is set. */
  readonly logprob: number
}

/**
 * Draws one token. It uses one number in [0, 1), or none if greedy. Ties go to the lowest id.
 * @throws RlError `model.not-finite` if logits are NaN or all infinite
 */
export function sampleToken(
  logits: Float32Array, // [vocab]
  { temperature, topP, topK = 0, minP = 0, allowed, repeated, tempered = false }: SamplingOptions,
  rng: Rng,
): Draw {
  const told = tempered && temperature > 0 ? temperature : 1
  if (repeated) {
    const { token } = sampleToken(
      penalised(logits, repeated),
      { temperature, topP, topK, minP, allowed },
      rng,
    )
    return { token, logprob: logprobOf(logits, token, told, allowed) }
  }
  const first = argMax(logits, allowed)
  const max = logits[first]!
  const shares = cumulativeShares(logits, max, told, allowed)
  const normalizer = normalizerOf(shares, max / told)
  const chosen = () => {
    if (temperature === 0) return first
    if (topK > 0 || minP > 0) return drawCut(logits, max, { temperature, topP, topK, minP, allowed }, rng)
    if (topP < 1) return drawNucleus(logits, max, temperature, topP, allowed, rng)
    if (temperature === told) return draw(shares, allowed, rng)
    return draw(cumulativeShares(logits, max, temperature, allowed), allowed, rng)
  }
  const token = chosen()
  return { token, logprob: Math.fround(logits[token]! / told - normalizer) }
}

/** Returns a token that the caller gives, with its log-prob. Errors: as `sampleToken`. */
export function givenToken(
  logits: Float32Array, // [vocab]
  token: number,
  { temperature, tempered = false, allowed }: SamplingOptions,
): Draw {
  return { token, logprob: logprobOf(logits, token, tempered && temperature > 0 ? temperature : 1, allowed) }
}

/** Returns the entropy over the allowed tokens in nats, at temperature 1. */
export function entropyOf(
  logits: Float32Array, // [vocab]
  allowed?: Int32Array,
): number {
  const max = logits[argMax(logits, allowed)]!
  const count = allowed?.length ?? logits.length
  let sum = 0
  let weighted = 0
  for (let i = 0; i < count; i++) {
    const below = logits[allowed ? allowed[i]! : i]! - max
    // A token that cannot come adds nothing.
    if (below === Number.NEGATIVE_INFINITY) continue
    sum += Math.exp(below)
    weighted += below * Math.exp(below)
  }
  return Math.max(0, Math.log(sum) - weighted / sum)
}

function logprobOf(
  logits: Float32Array,
  token: number,
  temperature: number,
  allowed: Int32Array | undefined,
): number {
  const max = logits[argMax(logits, allowed)]!
  const shares = cumulativeShares(logits, max, temperature, allowed)
  return Math.fround(logits[token]! / temperature - normalizerOf(shares, max / temperature))
}

function penalised(
  logits: Float32Array,
  { tokens, penalty }: NonNullable<SamplingOptions['repeated']>,
): Float32Array {
  const scores = Float32Array.from(logits)
  for (const token of tokens) {
    const score = scores[token]!
    scores[token] = score > 0 ? score / penalty : score * penalty
  }
  return scores
}

/** Draws from the likeliest tokens at this temperature: those within minP of the first, then the first topK, then their nucleus. */
function drawCut(
  logits: Float32Array,
  max: number,
  {
    temperature,
    topP,
    topK,
    minP,
    allowed,
  }: SamplingOptions & { readonly topK: number; readonly minP: number },
  { uniform }: Rng,
): number {
  const weights = new Map<number, number>()
  // Sorting a whole real vocabulary would take longer than the rest of a step.
  const among = topK > 0 && topK <= MOST_SELECTED ? likeliest(logits, topK, allowed) : allowed
  for (let i = 0, n = among?.length ?? logits.length; i < n; i++) {
    const token = among ? among[i]! : i
    const weight = Math.exp((logits[token]! - max) / temperature)
    if (weight >= minP) weights.set(token, weight)
  }
  const kept = [...weights].sort(([a, x], [b, y]) => y - x || a - b).slice(0, topK > 0 ? topK : undefined)
  const sum = kept.reduce((total, [, weight]) => total + weight, 0)
  let count = 0
  let mass = 0
  while (count < kept.length && (count === 0 || mass < topP * sum)) mass += kept[count++]![1]
  let left = uniform() * mass
  for (const [token, weight] of kept.slice(0, count)) {
    left -= weight
    if (left < 0) return token
  }
  return kept[count - 1]![0]
}

/** Returns the `count` likeliest allowed tokens, likeliest first. */
export function topTokens(logits: Float32Array, count: number, allowed?: Int32Array): Draw[] {
  if (count === 0) return []
  const max = logits[argMax(logits, allowed)]!
  const normalizer = normalizerOf(cumulativeShares(logits, max, 1, allowed), max)
  return likeliest(logits, count, allowed).map((token) => ({
    token,
    logprob: Math.fround(logits[token]! - normalizer),
  }))
}

const MOST_SELECTED = 256

/** Returns the `count` likeliest allowed tokens in order. Ties go to the lowest id. */
function likeliest(logits: Float32Array, count: number, allowed: Int32Array | undefined): number[] {
  const best: number[] = []
  const before = (a: number, b: number) => logits[a]! > logits[b]! || (logits[a] === logits[b] && a < b)
  const consider = (token: number) => {
    if (best.length === count && !before(token, best[count - 1]!)) return
    let place = best.length
    while (place > 0 && before(token, best[place - 1]!)) place--
    best.splice(place, 0, token)
    best.length = Math.min(best.length, count)
  }
  for (let i = 0, n = allowed?.length ?? logits.length; i < n; i++) consider(allowed?.[i] ?? i)
  return best
}

/** Returns running sums of exp((logit - max) / temperature) over the allowed tokens in their order. */
function cumulativeShares(
  logits: Float32Array,
  max: number,
  temperature: number,
  allowed: Int32Array | undefined,
): Float64Array {
  const count = allowed?.length ?? logits.length
  const shares = new Float64Array(count)
  let sum = 0
  // With a real vocabulary this loop takes a tenth of a step, so it has no conditions.
  if (!allowed)
    for (let i = 0; i < count; i++) {
      sum += Math.exp((logits[i]! - max) / temperature)
      shares[i] = sum
    }
  else
    for (let i = 0; i < count; i++) {
      sum += Math.exp((logits[allowed[i]!]! - max) / temperature)
      shares[i] = sum
    }
  return shares
}

/** Returns log sum exp of the logits over the temperature, from their running sums. `max` is divided by the temperature too. */
function normalizerOf(shares: Float64Array, max: number): number {
  const result = max + Math.log(shares[shares.length - 1]!)
  if (!Number.isFinite(result)) throw notFinite()
  return result
}

/** Checks a draw that was made elsewhere. @throws RlError `model.not-finite` as `sampleToken` does */
export function finite(draw: Draw): Draw {
  if (!Number.isFinite(draw.logprob)) throw notFinite()
  return draw
}

function notFinite(): RlError {
  return new RlError('the logits are not finite', {
    code: 'model.not-finite',
    hint: 'the weights are damaged: load an earlier checkpoint',
  })
}

function argMax(logits: Float32Array, allowed: Int32Array | undefined): number {
  let best = allowed ? allowed[0]! : 0
  if (allowed) {
    for (const token of allowed) if (logits[token]! > logits[best]!) best = token
  } else for (let token = 1; token < logits.length; token++) if (logits[token]! > logits[best]!) best = token
  return best
}

function draw(shares: Float64Array, allowed: Int32Array | undefined, { uniform }: Rng): number {
  const at = uniform() * shares[shares.length - 1]!
  // Find the first cumulative share above the draw, by bisection.
  let low = 0
  let high = shares.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (shares[middle]! > at) high = middle
    else low = middle + 1
  }
  return allowed ? allowed[low]! : low
}

function drawNucleus(
  logits: Float32Array,
  max: number,
  temperature: number,
  topP: number,
  allowed: Int32Array | undefined,
  { uniform }: Rng,
): number {
  const count = allowed?.length ?? logits.length
  const weights = new Float64Array(count)
  let sum = 0
  for (let i = 0; i < count; i++) {
    weights[i] = Math.exp((logits[allowed ? allowed[i]! : i]! - max) / temperature)
    sum += weights[i]!
  }
  // All weights below this floor together have less than 1 - topP. So the nucleus is above it, and only that part is sorted.
  const floor = ((1 - topP) / count) * sum
  const candidates: number[] = []
  for (let i = 0; i < count; i++) if (weights[i]! >= floor) candidates.push(i)
  candidates.sort((a, b) => weights[b]! - weights[a]! || a - b)
  let kept = 0
  let mass = 0
  while (kept < candidates.length && (kept === 0 || mass < topP * sum)) mass += weights[candidates[kept++]!]!
  let left = uniform() * mass
  for (let i = 0; i < kept; i++) {
    const candidate = candidates[i]!
    left -= weights[candidate]!
    if (left < 0) return allowed ? allowed[candidate]! : candidate
  }
  const last = candidates[kept - 1]!
  return allowed ? allowed[last]! : last
}
