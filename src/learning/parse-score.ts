import type { Score } from './terms.ts'

/** Commands and braces of LaTeX, which change how a number looks and not what it is. */
const TYPESETTING = /\\[a-z]+|\\.|[{}$]/gi
/** With a fraction and groups of thousands, whichever mark parts them: `.1`, `1,000` and `0,1` are one number each. */
const NUMBER = /[+-]?\.?\d+(?:[.,]\d+)*/g
/** A sign that stands apart from its number, with no word or number before it that it could belong to. */
const SIGN_APART = /(^|[:=(,;])\s*([+-])\s+(?=\d)/g

/**
 * The verdict in a judge's text: the content of its last `\boxed{...}` with balanced braces. `1`, `+1` and `-1` (also with
 * Unicode minus signs, and typeset as `-\mathbf{1}`) count; a fraction never does, nor what has either sign; other content counts
 * where exactly one of its whole numbers is 1 or -1. All else is unreadable: 0.
 */
export function parseScore(text: string): Score {
  const content = lastBox(text)?.replace(/[\u2010-\u2015\u2212\uFE63\uFF0D]/g, '-')
  if (content === undefined || /\d\s*\/\s*\d|\\[a-z]*frac|\\(?:pm|mp)(?![a-z])|\u00B1/.test(content)) return 0
  const plain = content.replace(TYPESETTING, '').trim().replace(SIGN_APART, '$1$2')
  const verdicts = (plain.match(NUMBER) ?? []).map(Number).filter((n) => n === 1 || n === -1)
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
