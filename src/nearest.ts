/**
 * Returns the candidate whose spelling is nearest to the word. At most a third of its letters may differ,
 * else null.
 */
export function nearest(word: string, candidates: readonly string[]): string | null {
  let best: string | null = null
  let least = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    const edits = distance(word.toLowerCase(), candidate.toLowerCase())
    if (edits < least) {
      least = edits
      best = candidate
    }
  }
  return best !== null && least <= Math.max(2, Math.ceil(best.length / 3)) ? best : null
}

/** Levenshtein distance: least number of inserted, deleted and replaced letters. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1))
    row = next
  }
  return row[b.length]
}
