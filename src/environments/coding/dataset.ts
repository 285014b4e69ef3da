/** Reads problem files: JSON lines, or one JSON array, in any of the formats of formats.ts; gzipped or not. */
import { readFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { RlError } from '../../errors.ts'
import { parseRecord } from './formats.ts'
import type { CodingProblem } from './problem.ts'

export type DatasetOptions = {
  /** Only the first tests of each problem count; the reference keeps 8. Infinity for all. */
  readonly maxTests?: number
}

const MAX_BYTES = 1 << 30
const MAX_UNPACKED_BYTES = 1 << 30

/** All problems of the files, in order. Refuses a damaged record with its file, line and key. Ids are unique. */
export async function loadProblems(
  files: readonly string[],
  options: DatasetOptions = {},
): Promise<CodingProblem[]> {
  const problems: CodingProblem[] = []
  const seen = new Map<string, string>()
  for (const file of files) {
    for (const [place, problem] of parseProblems(await readText(file), file, options)) {
      const before = seen.get(problem.id)
      if (before !== undefined)
        throw new RlError(`${place}: the id '${problem.id}' is also that of ${before}`, {
          code: 'coding.dataset',
          hint: 'give each problem an id of its own',
        })
      seen.set(problem.id, place)
      problems.push(problem)
    }
  }
  return problems
}

/** The problems of one file's text, each with its place for messages. */
export function parseProblems(
  text: string,
  file: string,
  { maxTests = 8 }: DatasetOptions = {},
): [place: string, problem: CodingProblem][] {
  const trimmed = text.trimStart()
  if (trimmed.startsWith('[')) {
    const records = parseJson(trimmed, file)
    if (Array.isArray(records)) return records.map((record, i) => one(record, `${file}[${i}]`, maxTests))
  }
  return text.split('\n').flatMap((line, i) => {
    if (line.trim() === '') return []
    const place = `${file}:${i + 1}`
    return [one(parseJson(line, place), place, maxTests)]
  })
}

function one(record: unknown, place: string, maxTests: number): [string, CodingProblem] {
  return [place, parseRecord(record, place, maxTests)]
}

function parseJson(text: string, place: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new RlError(`${place}: not JSON: ${cause instanceof Error ? cause.message : cause}`, {
      code: 'coding.dataset',
      hint: 'a problem file has one JSON object a line',
      cause,
    })
  }
}

async function readText(file: string): Promise<string> {
  try {
    const bytes = await readFile(file)
    if (bytes.length > MAX_BYTES) throw new Error(`it has ${bytes.length} bytes, at most ${MAX_BYTES}`)
    const packed = bytes[0] === 0x1f && bytes[1] === 0x8b
    return (packed ? gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED_BYTES }) : bytes).toString()
  } catch (cause) {
    throw new RlError(`cannot read ${file}: ${cause instanceof Error ? cause.message : cause}`, {
      code: 'coding.dataset',
      hint: 'name a readable problem file',
      cause,
    })
  }
}
