/**
 * Measures the comments of the sources: `node bin/launch.mjs scripts/docs/comments.ts [--list]`. With `--list` it names
 * each finding. Exits with status 1 if a count is above its limit.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { measureProse, type Sentence, sentencesOf } from './prose.ts'

/** Highest counts that are allowed. They only fall: lower a limit with each change that lowers its count. */
export const LIMITS = { where: 5, oddBegin: 6 } as const

export type Comment = {
  readonly file: string
  /** First line, counted from 1. */
  readonly line: number
  /** `text` is an argument of `describe` or a `help` text of a command. */
  readonly kind: 'doc' | 'line' | 'text'
  /** Without comment marks. */
  readonly text: string
}

export type CommentMeasure = {
  /** Each "where" that opens a condition. */
  readonly where: readonly Comment[]
  /** Doc comments whose first word is not a subject or a verb. */
  readonly oddBegin: readonly Comment[]
  /** Words of a sentence in doc comments. */
  readonly median: number
  readonly p90: number
}

/** "where" means a place after such a word. */
const PLACES =
  /\b(folders?|files?|places?|directory|position|lines?|index|points?|pages?|host|machine|address|path|spot|offset|from|to|of|is|are|and|or|matter|knows?|tells?|says?|sees?|shows?|seen|finds?|reads?|told|said|named?|known|remembers?|learns?|checks?|gives?)\s+where\b/i
/** "Where it is" and "where there" open conditions more often than they name places. */
const CONDITION = /\bwhere\s+(it\s+is|there)\b/i
const ODD_BEGIN = /^(That|What|Those|So)\b|^(Of a|Null for)\b/

/** TypeScript files of the system and of its packages. */
export function commentedFiles(): readonly string[] {
  const packages = readdirSync('packages').map((name) => join('packages', name, 'src'))
  return ['src', ...packages].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(folder, file))
      .sort(),
  )
}

/**
 * Comments and described texts of a source, in the order of their lines. Adjacent `//` lines are one comment.
 *
 * @param file only named in the result
 */
export function commentsOf(file: string, source: string): readonly Comment[] {
  const root = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true)
  const ranges = new Map<number, ts.CommentRange>()
  const comments: Comment[] = []
  const texts: Comment[] = []
  const lineOf = (position: number) => root.getLineAndCharacterOfPosition(position).line + 1
  const visit = (node: ts.Node) => {
    const around = [
      ...(ts.getLeadingCommentRanges(source, node.pos) ?? []),
      ...(ts.getTrailingCommentRanges(source, node.end) ?? []),
    ]
    if (node.kind !== ts.SyntaxKind.JsxText) for (const range of around) ranges.set(range.pos, range)
    const text = describedText(node)
    if (text) texts.push({ file, line: lineOf(text.getStart()), kind: 'text', text: text.text })
    // Tokens are no children of `forEachChild`, and comments may stand before one.
    for (const child of node.getChildren(root)) visit(child)
  }
  visit(root)
  let lastLine = 0
  for (const { pos, end } of [...ranges.values()].sort((a, b) => a.pos - b.pos)) {
    const text = withoutMarks(source.slice(pos, end))
    const line = lineOf(pos)
    const isAlone = /(^|\n)[ \t]*\/\/$/.test(source.slice(0, pos + 2))
    const before = comments.at(-1)
    if (isAlone && before && line === lastLine + 1) {
      comments[comments.length - 1] = { ...before, text: `${before.text}\n${text}` }
    } else {
      comments.push({ file, line, kind: source.startsWith('/**', pos) ? 'doc' : 'line', text })
    }
    lastLine = isAlone ? line : 0
  }
  return [...comments, ...texts]
    .filter(({ text }) => !text.startsWith('biome-ignore'))
    .sort((a, b) => a.line - b.line)
}

/** The literal of `describe('...')` or `help: '...'`. */
function describedText(node: ts.Node): ts.StringLiteralLike | null {
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const [text] = node.arguments
    if (node.expression.name.text === 'describe' && text && ts.isStringLiteralLike(text)) return text
  }
  if (ts.isPropertyAssignment(node) && node.name.getText() === 'help')
    if (ts.isStringLiteralLike(node.initializer)) return node.initializer
  return null
}

function withoutMarks(raw: string): string {
  if (raw.startsWith('//')) return raw.slice(2).trim()
  return raw
    .replace(/^\/\*+/, '')
    .replace(/\*+\/$/, '')
    .replace(/^[ \t]*\* ?/gm, '')
    .trim()
}

/** Measures comments of one or several files. */
export function measureComments(comments: readonly Comment[]): CommentMeasure {
  const sentences = comments.filter(({ kind }) => kind === 'doc').flatMap(sentencesIn)
  const { median, p90 } = measureProse(sentences)
  return {
    where: comments.flatMap((comment) => Array.from({ length: conditions(comment.text) }, () => comment)),
    oddBegin: comments.filter(({ kind, text }) => kind === 'doc' && ODD_BEGIN.test(text)),
    median,
    p90,
  }
}

/** The sentences of a comment. A tag begins a block of its own, and an example is code. */
export function sentencesIn({ file, text }: Comment): readonly Sentence[] {
  const markdown = text
    .replace(/^@example\b[\s\S]*?(?=^@|$(?![\s\S]))/gm, '')
    .replace(/^@param\s+\S+\s+/gm, '- ')
    .replace(/^@\w+\s+/gm, '- ')
  return sentencesOf(file, markdown)
}

/** Number of times that "where" opens a condition, as far as the words around it tell. */
function conditions(text: string): number {
  const flat = text.replace(/`[^`]*`/g, 'code').replace(/\s+/g, ' ')
  return [...flat.matchAll(/\bwhere\b/gi)].filter(({ index }) => {
    const around = flat.slice(Math.max(0, index - 20), index + 20)
    const sentence = flat.slice(index).split(/[.;]/)[0]
    if (CONDITION.test(around)) return true
    if (/^Where/.test(flat.slice(index))) return /[,:]/.test(sentence)
    return !PLACES.test(around)
  }).length
}

function main(isListed: boolean): void {
  const comments = commentedFiles().flatMap((file) => commentsOf(file, readFileSync(file, 'utf8')))
  const { where, oddBegin, median, p90 } = measureComments(comments)
  const isBroken = where.length > LIMITS.where || oddBegin.length > LIMITS.oddBegin
  if (isListed)
    for (const { file, line, text } of [...where, ...oddBegin])
      process.stdout.write(`${file}:${line}: ${text.replace(/\s+/g, ' ').slice(0, 150)}\n`)
  process.stdout.write(`where=${where.length} odd_begin=${oddBegin.length} median=${median} p90=${p90}\n`)
  if (!isBroken) return
  process.stdout.write(`at most where=${LIMITS.where} odd_begin=${LIMITS.oddBegin}; --list names them\n`)
  process.exitCode = 1
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main(process.argv[2] === '--list')
