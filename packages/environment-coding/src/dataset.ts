/** Reads problem files: JSON lines, or one JSON array, in any format of formats.ts, gzipped or not. */

import { createReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { createGunzip, gunzipSync } from 'node:zlib'
import { rng, seedOf } from 'rlanything/environments'
import { explain, itemAt, parseExact, RlError, textOf } from 'rlanything/kit'
import { parseRecord } from './formats.ts'
import type { CodingProblem } from './problem.ts'

export type DatasetOptions = {
  /** Number of tests to use of each problem, drawn by the seed and the problem's id. Default: all. */
  readonly tests?: number
  readonly seed?: number
}

/** A record that could not be read, with its place and the reason. */
export type Skipped = { readonly place: string; readonly reason: string }

export type LoadedProblems = {
  readonly problems: readonly CodingProblem[]
  readonly skipped: readonly Skipped[]
}

/** Most bytes of a JSON array, which is read whole. */
const MAX_ARRAY_BYTES = 1 << 28
const MAX_LINE_BYTES = 1 << 28

/** Yields the records of the files one by one. Only one record is in memory. Ids are unique. */
export async function* readProblems(
  files: readonly string[],
  options: DatasetOptions = {},
): AsyncGenerator<CodingProblem | Skipped> {
  const seen = new Map<string, string>()
  for (const file of files)
    for await (const { place, text } of records(file)) {
      try {
        const problem = sampled(parseRecord(parseJson(text, place), place), options)
        const before = seen.get(problem.id)
        if (before !== undefined) throw duplicate(place, problem.id, before)
        seen.set(problem.id, place)
        yield problem
      } catch (error) {
        if (!(error instanceof RlError)) throw error
        yield { place, reason: error.message }
      }
    }
}

export const isSkipped = (record: CodingProblem | Skipped): record is Skipped => 'reason' in record

/** Returns all problems of the files, in order. A record that cannot be read is left out and reported. */
export async function loadProblems(
  files: readonly string[],
  options: DatasetOptions = {},
): Promise<LoadedProblems> {
  const problems: CodingProblem[] = []
  const skipped: Skipped[] = []
  for await (const record of readProblems(files, options))
    if (isSkipped(record)) skipped.push(record)
    else problems.push(record)
  return { problems, skipped }
}

/** Returns one line about the skipped records, or null if there are none. */
export function skippedLine(skipped: readonly Skipped[], problems: number): string | null {
  if (skipped.length === 0) return null
  const shown = skipped.slice(0, 3).map(({ reason }) => reason)
  const rest = skipped.length > shown.length ? `; and ${skipped.length - shown.length} more` : ''
  return `${skipped.length} of ${skipped.length + problems} records were skipped: ${shown.join('; ')}${rest}`
}

/** The same tests for the same seed, in the order of the file. */
function sampled(
  problem: CodingProblem,
  { tests = Number.POSITIVE_INFINITY, seed = 0 }: DatasetOptions,
): CodingProblem {
  if (problem.tests.length <= tests) return problem
  const places = problem.tests.map((_, place) => place)
  const drawn = rng(seedOf(seed, 'coding-test-sample', problem.id))
    .shuffle(places)
    .slice(0, tests)
  return { ...problem, tests: drawn.sort((a, b) => a - b).map((place) => itemAt(problem.tests, place)) }
}

type Record = { readonly place: string; readonly text: string }

/** Yields the records of a file. At most one line is in memory. */
async function* records(file: string): AsyncGenerator<Record> {
  try {
    const packed = await isPacked(file)
    if (await isArray(file, packed)) yield* arrayRecords(file, packed)
    else {
      const bytes = createReadStream(file, { highWaterMark: 1 << 20 })
      yield* lines(packed ? bytes.pipe(createGunzip()) : bytes, file)
    }
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw new RlError(`cannot read ${file}: ${explain(cause)}`, {
      code: 'coding.dataset',
      hint: 'name a readable problem file',
      cause,
    })
  }
}

async function* lines(stream: Readable, file: string): AsyncGenerator<Record> {
  let parts: Buffer[] = []
  let size = 0
  let line = 1
  const take = (): Record | null => {
    const place = `${file}:${line}`
    if (size > MAX_LINE_BYTES) return { place, text: '' }
    const text = textOf(Buffer.concat(parts, size), file, line)
    return text.trim() === '' ? null : { place, text }
  }
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(10, start); end >= 0; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end))
      size += end - start
      const record = take()
      if (record) yield record
      parts = []
      size = 0
      line++
      start = end + 1
    }
    size += chunk.length - start
    if (size <= MAX_LINE_BYTES) parts.push(chunk.subarray(start))
  }
  const record = take()
  if (record) yield record
}

async function* arrayRecords(file: string, packed: boolean): AsyncGenerator<Record> {
  const bytes = await readFile(file)
  const text = textOf(packed ? gunzipSync(bytes, { maxOutputLength: MAX_ARRAY_BYTES }) : bytes, file)
  const list = parseJson(text, file)
  if (!Array.isArray(list)) throw new RlError(`${file}: expected an array`, { code: 'coding.dataset' })
  for (const [i, record] of list.entries()) yield { place: `${file}[${i}]`, text: JSON.stringify(record) }
}

async function isPacked(file: string): Promise<boolean> {
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0)
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b
  } finally {
    await handle.close()
  }
}

/** Whether the first character opens an array. A byte order mark counts as white space here. */
async function isArray(file: string, packed: boolean): Promise<boolean> {
  const bytes = createReadStream(file)
  const stream: Readable = packed ? bytes.pipe(createGunzip()) : bytes
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const first = chunk.toString().trimStart()[0]
    if (first !== undefined) return first === '['
  }
  return false
}

function parseJson(text: string, place: string): unknown {
  try {
    return parseExact(text)
  } catch (cause) {
    throw new RlError(`${place}: not JSON: ${cause instanceof Error ? cause.message : cause}`, {
      code: 'coding.dataset',
      hint: 'a problem file has one JSON object a line',
      cause,
    })
  }
}

const duplicate = (place: string, id: string, before: string) =>
  new RlError(`${place}: the id '${id}' is also that of ${before}`, {
    code: 'coding.dataset',
    hint: 'give each problem an id of its own',
  })
