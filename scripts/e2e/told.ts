/** Compares what a witness heard with the log. */
import { existsSync, readFileSync } from 'node:fs'
import type { LogReader } from '../../src/events/log-reader.ts'

export type Told = {
  /** Events that were told and are not in the log. */
  readonly lost: readonly string[]
  /** Positions that were told for two events. */
  readonly doubled: readonly string[]
  readonly heard: number
}

/** @param text lines of `position id`; the last one may be cut off */
export function compareTold(text: string, log: Pick<LogReader, 'positionOf'>): Told {
  const byPosition = new Map<string, string>()
  const lost: string[] = []
  const doubled: string[] = []
  for (const line of text.split('\n').slice(0, -1)) {
    const [position = '', id = ''] = line.split(' ')
    const before = byPosition.get(position)
    if (before === id) continue
    if (before !== undefined) doubled.push(`position ${position} for ${before} and ${id}`)
    byPosition.set(position, id)
    if (log.positionOf('id', id) !== Number(position)) lost.push(`event ${id} of position ${position}`)
  }
  return { lost, doubled, heard: byPosition.size }
}

export function readTold(files: readonly string[], log: Pick<LogReader, 'positionOf'>): Told {
  const texts = files.map((file) => (existsSync(file) ? readFileSync(file, 'utf8') : ''))
  // The last line of a witness may be cut off.
  return compareTold(texts.map((text) => text.slice(0, text.lastIndexOf('\n') + 1)).join(''), log)
}
