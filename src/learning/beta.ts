/** The Beta distribution: what n trials say about an unknown success rate. */
import { itemAt } from '../item-at.ts'

const LANCZOS = [
  676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
  -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
]

/** Returns the logarithm of the gamma function for x > 0 (Lanczos, g = 7, relative error about 1e-15). */
function logGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x)
  let sum = 0.99999999999980993
  for (let i = 0; i < LANCZOS.length; i++) sum += itemAt(LANCZOS, i) / (x + i)
  const t = x + 6.5
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum)
}

/** Returns the distribution function of Beta(a, b) at x: the regularised incomplete beta function, by Lentz's continued fraction. */
export function betaCdf(x: number, a: number, b: number): number {
  return betaDistribution(a, b)(x)
}

/** Returns the same as a function of x. What does not depend on x is computed once, for a sum over many points. */
export function betaDistribution(a: number, b: number): (x: number) => number {
  const whole = logGamma(a + b)
  const [ofA, ofB] = [logGamma(a), logGamma(b)]
  const [left, right] = [whole - ofA - ofB, whole - ofB - ofA]
  return (x) => {
    if (x <= 0) return 0
    if (x >= 1) return 1
    return x > (a + 1) / (a + b + 2) ? 1 - below(1 - x, b, a, right) : below(x, a, b, left)
  }
}

/** The same for x up to about the mean. There the fraction converges fast. `scale` is -log B(a, b). */
function below(x: number, a: number, b: number, scale: number): number {
  const front = Math.exp(scale + a * Math.log(x) + b * Math.log1p(-x))
  return (front / a) * continuedFraction(x, a, b)
}

/** Returns the x with betaCdf(x, a, b) = p, by bisection to the last bit that matters. */
export function betaQuantile(p: number, a: number, b: number): number {
  const cdf = betaDistribution(a, b)
  let low = 0
  let high = 1
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2
    if (cdf(middle) < p) low = middle
    else high = middle
  }
  return (low + high) / 2
}

function continuedFraction(x: number, a: number, b: number): number {
  let c = 1
  let d = 1 / awayFromZero(1 - ((a + b) * x) / (a + 1))
  let fraction = d
  for (let m = 1; m <= 400; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / awayFromZero(1 + even * d)
    c = awayFromZero(1 + even / c)
    fraction *= d * c
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / awayFromZero(1 + odd * d)
    c = awayFromZero(1 + odd / c)
    const change = d * c
    fraction *= change
    if (Math.abs(change - 1) < 1e-15) break
  }
  return fraction
}

function awayFromZero(value: number): number {
  return Math.abs(value) < 1e-300 ? 1e-300 : value
}
