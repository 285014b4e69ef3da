import type { Score } from './terms.ts'

/**
 * The verdict in a judge's text: the content of its last `\boxed{...}` with balanced braces. `1`, `+1` and `-1` (also with
 * Unicode minus signs) count; a fraction never does; other content counts where exactly one of its whole numbers is 1 or
 * -1. All else is unreadable: 0.
 */
export function parseScore(text: string): Score {
  const content = lastBox(text)
    ?.replace(/[\u2010-\u2015\u2212\uFE63\uFF0D]/g, '-')
    .trim()
  if (content === undefined || /\d\s*\/\s*\d/.test(content)) return 0
  const verdicts = (content.match(/[+-]?\d+(?:\.\d+)?/g) ?? []).map(Number).filter((n) => n === 1 || n === -1)
  return verdicts.length === 1 ? (verdicts[0] as Score) : 0
}

/** The content of the last `\boxed{...}` with balanced braces. */
export function lastBox(text: string): string | undefined {
  const marker = '\\boxed{'
  for (let start = text.lastIndexOf(marker); start >= 0; start = text.lastIndexOf(marker, start - 1)) {
    const open = start + marker.length
    let depth = 1
    for (let i = open; i < text.length; i++) {
      if (text[i] === '{') depth++
      else if (text[i] === '}') depth--
      if (depth === 0) return text.slice(open, i)
    }
    if (start === 0) break
  }
  return undefined
}
