/** Changes between two texts, word by word. */
import { itemAt } from '../../item-at.ts'

export type Piece = { readonly kind: 'same' | 'gone' | 'new'; readonly text: string }

/** Most words of each text between their common ends. Longer texts are shown as replaced. */
const MOST_WORDS = 2_000

/**
 * Returns the pieces of both texts in order, by their longest common subsequence of words.
 * @example wordDiff('put a cup', 'put the cup')
 * // [{ kind: 'same', text: 'put ' }, { kind: 'gone', text: 'a ' }, { kind: 'new', text: 'the ' }, { kind: 'same', text: 'cup' }]
 */
export function wordDiff(before: string, after: string): readonly Piece[] {
  const [a, b] = [wordsOf(before), wordsOf(after)]
  let from = 0
  while (from < a.length && from < b.length && a[from] === b[from]) from++
  let [endA, endB] = [a.length, b.length]
  while (endA > from && endB > from && a[endA - 1] === b[endB - 1]) {
    endA--
    endB--
  }
  return joined([
    ...a.slice(0, from).map(same),
    ...between(a.slice(from, endA), b.slice(from, endB)),
    ...a.slice(endA).map(same),
  ])
}

/** A word has the white space that follows it. */
function wordsOf(text: string): readonly string[] {
  return text.match(/\s+|\S+\s*/g) ?? []
}

const same = (text: string): Piece => ({ kind: 'same', text })
const gone = (text: string): Piece => ({ kind: 'gone', text })
const added = (text: string): Piece => ({ kind: 'new', text })

function between(a: readonly string[], b: readonly string[]): Piece[] {
  if (a.length > MOST_WORDS || b.length > MOST_WORDS) return [...a.map(gone), ...b.map(added)]
  const width = b.length + 1
  /** [i, j]: longest common subsequence of a from i on and b from j on. */
  const lengths = new Uint16Array((a.length + 1) * width)
  const lengthAt = (i: number, j: number) => itemAt(lengths, i * width + j)
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        a[i] === b[j] ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1))
  const pieces: Piece[] = []
  for (let i = 0, j = 0; i < a.length || j < b.length; )
    if (i < a.length && j < b.length && a[i] === b[j]) {
      pieces.push(same(itemAt(a, i++)))
      j++
    } else if (j === b.length || (i < a.length && lengthAt(i + 1, j) >= lengthAt(i, j + 1)))
      pieces.push(gone(itemAt(a, i++)))
    else pieces.push(added(itemAt(b, j++)))
  return pieces
}

/** Joins neighbours of one kind. */
function joined(pieces: readonly Piece[]): Piece[] {
  const found: Piece[] = []
  for (const piece of pieces) {
    const last = found.at(-1)
    if (last?.kind === piece.kind) found[found.length - 1] = { ...last, text: last.text + piece.text }
    else found.push(piece)
  }
  return found
}
