import { z } from 'zod'
import type { Seed } from '../../random.ts'
import type { Author } from '../users.ts'

/** All that the house knows of one type of event. */
export type EventDefinition<Schema extends z.ZodType = z.ZodType> = {
  /** Newest schema version; older ones are upcast when they are read. */
  readonly v: number
  /** Whose event it is: the head refuses it from other users; a role's process may also what its further workers may. */
  readonly by: readonly Author[]
  /** For the docs, one or two sentences: the fact that this event states. */
  readonly summary: string
  /** Its shape: that of every event of the newest version, whoever wrote it. */
  readonly schema: Schema
  /**
   * What else holds of such an event when it is written: lengths, places, tallies. Returns what is wrong, or null. Events that a
   * log holds already are read as they are.
   */
  readonly wrong?: (data: z.output<Schema>) => string | null
  /**
   * The fact's natural name within a run, e.g. `PolicyUpdated/3`; the log holds each name once, so an effect done twice
   * counts once. Null where the same fact can happen often.
   */
  readonly key: (data: z.output<Schema>) => string | null
  /** False where the event depends on time or machine (a start, a stall): such events are left out of the event digest. */
  readonly reproducible: boolean
  /** Version under which the event digest counts it, where later ones only added keys that may be absent: equal runs keep their digest. */
  readonly digestVersion?: number
}

export function define<Schema extends z.ZodType>(
  definition: EventDefinition<Schema>,
): EventDefinition<Schema> {
  return definition
}

export const count = z.int().nonnegative()
export const share = z.number().min(0).max(1)
export const name = z.string().min(1).max(256)
export const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
/** Typed, not `.readonly()`: that freezes what it was given, even where it is wrong, and no array of bytes can be frozen. */
export const seed: z.ZodType<Seed> = z.tuple([z.int().min(0).max(0xffffffff), z.int().min(0).max(0xffffffff)])
/** Little-endian binary column; the field's name ends with its element type (I32, F32, U8). */
export const column: z.ZodType<Uint8Array> = z.instanceof(Uint8Array)
export const blob = z.strictObject({ sha256, bytes: count })
/** A folder within a run's: names joined by `/`, none of which leads out of it. */
export const innerPath = z
  .string()
  .max(512)
  .regex(/^(?!.*(^|\/)\.{1,2}(\/|$))[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/)
/** Most characters of what an endpoint told as reasoning. */
export const MOST_REASONING = 4_000
/** Reasoning that an endpoint told apart from its answer, as text; its end where it is longer. */
export const reasoning = z.string().max(MOST_REASONING)
/** Successes among n rollouts. */
export const tally = z.strictObject({ successes: count, n: count })

/** What is wrong with a tally of so many rollouts at least, or null. */
export function tallyWrong(name: string, { successes, n }: z.infer<typeof tally>, least = 0): string | null {
  if (successes > n) return `${name}: ${successes} of ${n} rollouts succeeded`
  return n < least ? `${name}: ${n} rollouts are no measurement` : null
}
/** Figures by name. */
export const metrics = z.record(z.string(), z.number())
/** Measured durations and rates: the one part of `data` that may differ between two equal runs; not in the event digest. */
export const timing = z.record(z.string(), z.union([z.number(), z.string()])).optional()
/** A task as the environment knows it: see environments/port.ts. */
export const task = z.strictObject({
  id: name,
  environment: name,
  kind: name,
  goal: z.string().max(100_000),
  recipe: z.record(z.string(), z.unknown()),
})
