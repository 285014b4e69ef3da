/** Lines of text for a terminal. */

/** Columns of a terminal that a line may take. */
export const WIDTH = 100

/** A command stays on one line, so that it can be copied. It ends with the text, or before `;`, `,` or a bracket. */
const PIECES = /(?<=^| )(?:npm|npx|rl|sudo|apt|apt-get|brew|pip) [^;,()]*[^;,() ]|[^ ]+/g

/**
 * Breaks a line into lines of at most `width` columns. A longer word and a longer command stand alone.
 *
 * @param indent begins each line but the first
 * @example wrap('one two three', 8) // ['one two', 'three']
 */
export function wrap(text: string, width = WIDTH, indent = ''): string[] {
  if (text.length <= width) return [text]
  const lines: string[] = []
  let end = 0
  for (const { 0: piece, index } of text.matchAll(PIECES)) {
    const gap = text.slice(end, index)
    const last = lines.at(-1)
    if (last === undefined) lines.push(gap + piece)
    else if (last.length + gap.length + piece.length <= width) lines[lines.length - 1] = last + gap + piece
    // Without a gap the piece belongs to the word before it, e.g. the comma after a command.
    else if (gap === '') lines[lines.length - 1] = last + piece
    else lines.push(indent + piece)
    end = index + piece.length
  }
  return lines
}

const BARS = '▁▂▃▄▅▆▇█'

/**
 * Draws shares, one column each. The scale is 0 to 1, whatever the values: bars of two lines can be compared.
 *
 * @param most columns; of more values each column has the mean of neighbours
 * @example sparkline([0, 0.5, 1]) // '▁▅█'
 */
export function sparkline(shares: readonly number[], most = shares.length): string {
  const columns = Math.min(most, shares.length)
  const at = (column: number) => Math.floor((column * shares.length) / columns)
  return Array.from({ length: columns }, (_, column) => {
    const own = shares.slice(at(column), at(column + 1))
    const mean = own.reduce((sum, share) => sum + share, 0) / own.length
    return BARS[Math.min(BARS.length - 1, Math.max(0, Math.floor(mean * BARS.length)))]
  }).join('')
}
