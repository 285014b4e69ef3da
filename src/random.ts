/**
 * Counter-based random numbers: Threefry-2x32 with 20 rounds (Salmon et al., SC'11, "Parallel random numbers: as easy
 * as 1, 2, 3"). A draw is a pure function of a seed and a counter. So results do not depend on the order of workers or batches.
 */

/** Two unsigned 32-bit words. Plain data: seeds travel in events. */
export type Seed = readonly [number, number]

const ROTATIONS = [13, 15, 26, 6, 17, 29, 16, 24]

/** Computes one Threefry-2x32-20 block: 64 random bits for (key, counter). Each is two unsigned 32-bit words. */
export function threefry(key: Seed, counter: Seed): Seed {
  const [k0, k1] = key
  const schedule = [k0, k1, (0x1bd11bda ^ k0 ^ k1) >>> 0]
  let x0 = (counter[0] + k0) | 0
  let x1 = (counter[1] + k1) | 0
  for (let round = 0; round < 20; round++) {
    const bits = ROTATIONS[round % 8] as number
    x0 = (x0 + x1) | 0
    x1 = ((x1 << bits) | (x1 >>> (32 - bits))) ^ x0
    if (round % 4 === 3) {
      const injection = (round + 1) / 4
      x0 = (x0 + (schedule[injection % 3] as number)) | 0
      x1 = (x1 + (schedule[(injection + 1) % 3] as number) + injection) | 0
    }
  }
  return [x0 >>> 0, x1 >>> 0]
}

/**
 * Returns the seed for a purpose. It folds the parts of a path one by one.
 *
 * @example seedOf(run, 'rollout', iteration, slot, index)
 */
export function seedOf(root: number | Seed, ...path: readonly (string | number)[]): Seed {
  let seed: Seed = typeof root === 'number' ? [root >>> 0, Math.floor(root / 2 ** 32) >>> 0] : root
  for (const part of path) seed = threefry(seed, typeof part === 'number' ? words(part) : hash(part))
  return seed
}

/** A stream of draws from a seed. */
export type Rng = {
  /** Returns 32 random bits, unsigned. */
  readonly bits: () => number
  /** Returns a uniform number in [0, 1) with 53 bits. */
  readonly uniform: () => number
  /** Returns a uniform integer in [0, n). */
  readonly below: (n: number) => number
  /** Returns a uniformly chosen element. The list must not be empty. */
  readonly pick: <T>(items: readonly T[]) => T
  /** Returns a shuffled copy (Fisher-Yates). */
  readonly shuffle: <T>(items: readonly T[]) => T[]
}

/**
 * Returns the random numbers of a seed. Equal seeds give equal numbers.
 *
 * @example rng(seedOf(7, 'shuffle')).pick(['a', 'b', 'c'])
 */
export function rng(seed: Seed): Rng {
  let counter = 0
  let spare: number | undefined
  const bits = () => {
    if (spare !== undefined) {
      const value = spare
      spare = undefined
      return value
    }
    const [first, second] = threefry(seed, words(counter++))
    spare = second
    return first
  }
  const uniform = () => ((bits() >>> 5) * 2 ** 26 + (bits() >>> 6)) / 2 ** 53
  const below = (n: number) => Math.floor(uniform() * n)
  const pick = <T>(items: readonly T[]) => items[below(items.length)] as T
  const shuffle = <T>(items: readonly T[]) => {
    const copy = [...items]
    for (let i = copy.length - 1; i > 0; i--) {
      const j = below(i + 1)
      ;[copy[i], copy[j]] = [copy[j] as T, copy[i] as T]
    }
    return copy
  }
  return { bits, uniform, below, pick, shuffle }
}

function words(value: number): Seed {
  return [value >>> 0, Math.floor(value / 2 ** 32) >>> 0]
}

/** Returns 64 bits of a string: two FNV-1a passes with different offsets over its UTF-16 code units. */
function hash(text: string): Seed {
  let a = 0x811c9dc5
  let b = 0x01000193
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    a = Math.imul(a ^ unit, 0x01000193)
    b = Math.imul(b ^ unit, 0x85ebca6b) + i
  }
  return [a >>> 0, b >>> 0]
}
