/** What a replay of a run is expected to give: recorded once beside its log, compared by every later replay. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { RlError } from '../errors.ts'
import type { Digests } from './projections.ts'
import type { Replay } from './replay.ts'

const schema = z.strictObject({
  position: z.int(),
  /** Of `Replay`: all that the deciders gave. */
  decisions: z.string(),
  projections: z.record(z.string(), z.string()),
  /** The first difference from the log that was accepted, else null. */
  difference: z.strictObject({ position: z.int(), key: z.string(), what: z.string() }).nullable(),
})

export type Expectation = z.infer<typeof schema>

export function expectationOf(
  { position, decisions, difference }: Replay,
  projections: Digests,
): Expectation {
  return {
    position,
    decisions,
    projections,
    difference: difference && { position: difference.position, key: difference.key, what: difference.what },
  }
}

/** Null where nothing was ever accepted. */
export function readExpectation(path: string): Expectation | null {
  if (!existsSync(path)) return null
  try {
    return schema.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (cause) {
    throw new RlError(`${path} is not what a replay writes`, {
      code: 'replay.bad-expectation',
      hint: 'record it anew: rl replay RUN --accept',
      cause,
    })
  }
}

export function writeExpectation(path: string, expectation: Expectation): void {
  writeFileSync(path, `${JSON.stringify(expectation, null, 2)}\n`)
}

/**
 * What a replay gives otherwise than was recorded; null where nothing, and of a log that has grown since. A replay of a part of
 * it need not come upon the accepted difference (`whole`: it compared from the first position on), and only up to the same end
 * are the digests known.
 */
export function surprise(expected: Expectation, given: Expectation, whole = true): string | null {
  if (given.position > expected.position) return null
  const { difference } = given
  if (difference && !isSame(difference, expected.difference))
    return `position ${difference.position}: ${difference.what}`
  if (given.position < expected.position) return null
  if (whole && expected.difference && !difference) return 'the accepted difference is gone'
  if (expected.decisions !== given.decisions)
    return 'the deciders ask for other work than recorded, though all their events are the same'
  const other = Object.keys(given.projections).find(
    (name) => expected.projections[name] !== given.projections[name],
  )
  return other === undefined ? null : `the projection '${other}' has other rows than recorded`
}

/** Not by position: what is missing is told at the last that was read. */
function isSame(given: NonNullable<Expectation['difference']>, accepted: Expectation['difference']): boolean {
  return given.key === accepted?.key && given.what === accepted.what
}
