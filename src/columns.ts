/** Lines of text for a terminal. */

/** Columns of a terminal that a line may take. */
export const WIDTH = 100

/** Breaks a line into lines of at most `width` columns. A longer word stands alone. */
export function wrap(text: string, width = WIDTH): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
