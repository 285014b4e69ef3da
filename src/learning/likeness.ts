/** Likeness of two texts by their longest common blocks (Ratcliff and Obershelp, 1988). */

type Span = { readonly fromA: number; readonly toA: number; readonly fromB: number; readonly toB: number }

/**
 * Returns 2 M / L: M characters in common blocks, L characters of both. Two empty texts give 1.
 * @example likeness('abcd', 'bcde') // 0.75
 */
export function likeness(a: string, b: string): number {
  const length = a.length + b.length
  if (length === 0) return 1
  let matched = 0
  const spans: Span[] = [{ fromA: 0, toA: a.length, fromB: 0, toB: b.length }]
  for (let span = spans.pop(); span; span = spans.pop()) {
    const block = longestBlock(a, b, span)
    if (block.size === 0) continue
    matched += block.size
    const [endA, endB] = [block.a + block.size, block.b + block.size]
    spans.push({ fromA: span.fromA, toA: block.a, fromB: span.fromB, toB: block.b })
    spans.push({ fromA: endA, toA: span.toA, fromB: endB, toB: span.toB })
  }
  return (2 * matched) / length
}

/** The longest block of both texts within a span. Of several it is the first in `a`, then the first in `b`. */
function longestBlock(a: string, b: string, { fromA, toA, fromB, toB }: Span) {
  let best = { a: fromA, b: fromB, size: 0 }
  let before = new Int32Array(toB - fromB + 1)
  for (let i = fromA; i < toA; i++) {
    const row = new Int32Array(toB - fromB + 1)
    for (let j = fromB; j < toB; j++) {
      if (a.charCodeAt(i) !== b.charCodeAt(j)) continue
      const size = (before[j - fromB] ?? 0) + 1
      row[j - fromB + 1] = size
      if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size }
    }
    before = row
  }
  return best
}
