/**
 * Expected result of a run's replay. It is recorded once beside the log, and compared by every later replay.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { RlError } from '../errors.ts'
import type { Digests } from './projections.ts'
import type { Replay } from './replay.ts'

const schema = z.strictObject({
  position: z.int(),
  /** Digest of all decisions, as in `Replay`. */
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

/** Returns null if nothing was ever accepted. */
export function readExpectation(path: string): Expectation | null {
  if (!existsSync(path)) return null
  try {
    return schema.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (cause) {
    throw new RlError(`${path} is not the result of a replay`, {
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
 * Returns the difference between a replay and the recorded expectation. Returns null if there is none, or if
 * the log has grown since. A partial replay need not meet the accepted difference (`whole`: it compared from
 * the first position on). Its digests are compared only if it ended at the same position.
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
  // An expectation of an earlier version knows fewer projections.
  const other = Object.keys(given.projections).find(
    (name) =>
      Object.hasOwn(expected.projections, name) && expected.projections[name] !== given.projections[name],
  )
  return other === undefined ? null : `the projection '${other}' has other rows than recorded`
}

/** Compares without the position: a missing event is reported at the last position that was read. */
function isSame(given: NonNullable<Expectation['difference']>, accepted: Expectation['difference']): boolean {
  return given.key === accepted?.key && given.what === accepted.what
}
