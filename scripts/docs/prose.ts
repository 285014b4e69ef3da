/**
 * Measures how long the sentences of the documentation are: `node bin/launch.mjs scripts/docs/prose.ts [FILE...]`.
 * Without a file it measures README.md and every page of docs/. Exits with status 1 if they miss a goal.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Goals in words a sentence. `over30` is the percentage of sentences with more than 30 words. */
export const GOALS = { median: 12, p90: 25, over30: 3 } as const

export type Sentence = {
  readonly file: string
  /** First line of its block, counted from 1. */
  readonly line: number
  readonly words: number
  readonly text: string
}

export type ProseMeasure = {
  readonly sentences: number
  /** Words of a sentence. */
  readonly median: number
  readonly p90: number
  /** Percentage of sentences with more than 30 words. */
  readonly over30: number
}

/** README.md and all pages of docs/, as paths from the project's root. */
export function documentedPages(): readonly string[] {
  const pages = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.md'),
  )
  return ['README.md', ...pages.map((file) => join('docs', file)).sort()]
}

/**
 * The sentences of a page of Markdown, without code, headings, tables and comments.
 *
 * @param file only named in the result
 */
export function sentencesOf(file: string, markdown: string): readonly Sentence[] {
  return blocksOf(markdown).flatMap(({ line, text }) =>
    plain(text)
      .split(/(?<=[.!?][)"']?)\s+(?=[A-Z0-9"'(`])/)
      .map((piece) => ({ file, line, words: countWords(piece), text: piece.trim() }))
      .filter(({ words }) => words >= 3),
  )
}

/** Paragraphs and list items with the line on which each begins. */
function blocksOf(markdown: string): readonly { readonly line: number; readonly text: string }[] {
  const blanked = markdown
    .replace(/^---\n[\s\S]*?\n---\n/, blank)
    .replace(/<!--[\s\S]*?-->/g, blank)
    .replace(/^( *)(```|~~~)[\s\S]*?^\1\2[^\n]*$/gm, blank)
  const blocks: { line: number; text: string }[] = []
  let isOpen = false
  for (const [index, line] of blanked.split('\n').entries()) {
    const isProse = line.trim() !== '' && !/^\s*(#|\||<)/.test(line)
    const isItem = /^\s*([-*+]|\d+\.)\s/.test(line)
    const text = line.replace(/^\s*(?:[-*+]|\d+\.|>)\s/, '').trim()
    if (isProse && isOpen && !isItem) blocks[blocks.length - 1].text += ` ${text}`
    else if (isProse) blocks.push({ line: index + 1, text })
    isOpen = isProse
  }
  return blocks
}

/** Replaces a dropped part by its line breaks, so that line numbers stay right. */
function blank(dropped: string): string {
  return dropped.replace(/[^\n]/g, '')
}

/** Text as it is read aloud: code, links and addresses become one word. */
function plain(text: string): string {
  return text
    .replace(/(`+)(?:(?!\1)[\s\S])+?\1/g, 'Code')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<?https?:\/\/[^\s)>]+>?/g, 'address')
    .replace(/(\*\*|__|[*_])(?=\S)(.+?)\1/g, '$2')
    .replace(/\b(e\.g|i\.e|vs|cf)\./g, (abbreviation) => abbreviation.replaceAll('.', ''))
}

function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word)).length
}

/** Measures sentences of one or several pages. */
export function measureProse(sentences: readonly Sentence[]): ProseMeasure {
  const words = sentences.map((sentence) => sentence.words).sort((a, b) => a - b)
  const at = (share: number) => words[Math.min(words.length - 1, Math.floor(share * words.length))] ?? 0
  const long = words.filter((count) => count > 30).length
  return {
    sentences: words.length,
    median: at(0.5),
    p90: at(0.9),
    over30: words.length === 0 ? 0 : (100 * long) / words.length,
  }
}

export function meetsGoals({ median, p90, over30 }: ProseMeasure): boolean {
  return median <= GOALS.median && p90 <= GOALS.p90 && over30 <= GOALS.over30
}

function main(files: readonly string[]): void {
  const pages = files.length > 0 ? files : documentedPages()
  const all = pages.flatMap((file) => sentencesOf(file, readFileSync(file, 'utf8')))
  for (const file of pages) {
    const measure = measureProse(all.filter((sentence) => sentence.file === file))
    if (meetsGoals(measure)) continue
    process.stdout.write(`${file}: ${told(measure)}\n`)
  }
  const longest = all.toSorted((a, b) => b.words - a.words).slice(0, 10)
  for (const { file, line, words, text } of longest)
    process.stdout.write(`${words} words at ${file}:${line}: ${text.slice(0, 90)}...\n`)
  const total = measureProse(all)
  process.stdout.write(`pages=${pages.length} ${told(total)}\n`)
  if (!meetsGoals(total)) process.exitCode = 1
}

function told({ sentences, median, p90, over30 }: ProseMeasure): string {
  return `sentences=${sentences} median_words=${median} p90_words=${p90} over30_percent=${over30.toFixed(1)}`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main(process.argv.slice(2))
