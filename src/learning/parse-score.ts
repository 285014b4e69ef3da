import type { Score } from './terms.ts'

/** Commands and braces of LaTeX. They change how a number looks, not its value. */
const TYPESETTING = /\\[a-z]+|\\.|[{}$]/gi
/** A number with a fraction or groups of thousands, by comma or point: `.1`, `1,000` and `0,1` are one number each. */
const NUMBER = /[+-]?\.?\d+(?:[.,]\d+)*/g
/** A sign apart from its number. No word or number before it can own the sign. */
const SIGN_APART = /(^|[:=(,;])\s*([+-])\s+(?=\d)/g

/**
 * Returns the verdict in a judge's text: the content of its last `\boxed{...}` with balanced braces. `1`, `+1` and `-1` count,
 * also with Unicode minus signs and typeset as `-\mathbf{1}`. A fraction never counts, and neither does `±1`. Other content counts
 * if exactly one of its whole numbers is 1 or -1. Everything else is unreadable and gives 0.
 */
export function parseScore(text: string): Score {
  const content = lastBox(text)?.replace(/[\u2010-\u2015\u2212\uFE63\uFF0D]/g, '-')
  if (content === undefined || /\d\s*\/\s*\d|\\[a-z]*frac|\\(?:pm|mp)(?![a-z])|\u00B1/.test(content)) return 0
  const plain = content.replace(TYPESETTING, '').trim().replace(SIGN_APART, '$1$2')
  const verdicts = (plain.match(NUMBER) ?? []).map(Number).filter((n) => n === 1 || n === -1)
  return verdicts.length === 1 ? (verdicts[0] as Score) : 0
}

/** Returns the content of the last `\boxed{...}` with balanced braces. */
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
