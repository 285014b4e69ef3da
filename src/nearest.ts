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
  let last = b.length
  for (let i = 1; i <= a.length; i++) {
    let [diagonal = 0, ...above] = row
    last = i
    const next = [i]
    for (const [j, up] of above.entries()) {
      last = Math.min(last + 1, up + 1, diagonal + (a[i - 1] === b[j] ? 0 : 1))
      next.push(last)
      diagonal = up
    }
    row = next
  }
  return last
}
