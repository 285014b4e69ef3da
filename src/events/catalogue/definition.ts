import { z } from 'zod'
import type { Seed } from '../../random.ts'
import type { Author } from '../users.ts'

/** Everything that the project knows of one event type. */
export type EventDefinition<Schema extends z.ZodType = z.ZodType> = {
  /** Newest schema version. Older events are upcast when they are read. */
  readonly v: number
  /**
   * Authors of the event. The head refuses it from other users. A role's process may also write what its further
   * workers may.
   */
  readonly by: readonly Author[]
  /** The fact that this event states, in one or two sentences, for the docs. */
  readonly summary: string
  /** Shape of every event of the newest version, whoever wrote it. */
  readonly schema: Schema
  /**
   * Checks what the schema cannot when an event is written: lengths, places, tallies. Returns what is wrong, or null.
   * Events that a log holds already are not checked.
   */
  readonly wrong?: (data: z.output<Schema>) => string | null
  /**
   * The fact's natural name within a run, e.g. `PolicyUpdated/3`. The log holds each name once, so an effect done twice
   * counts once. Null if the same fact can happen often.
   */
  readonly key: (data: z.output<Schema>) => string | null
  /** False if the event depends on time or machine (a start, a stall). Such events are left out of the event digest. */
  readonly reproducible: boolean
  /**
   * Version under which the event digest counts the event. It is set if later versions only added keys that may be
   * absent: equal runs keep their digest.
   */
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
/**
 * The type is readonly without `.readonly()`. That call freezes its input, even if the input is wrong, and arrays of
 * bytes cannot be frozen.
 */
export const seed: z.ZodType<Seed> = z.tuple([z.int().min(0).max(0xffffffff), z.int().min(0).max(0xffffffff)])
/** Little-endian binary column. The field's name ends with its element type (I32, F32, U8). */
export const column: z.ZodType<Uint8Array> = z.instanceof(Uint8Array)
/** Most bytes of an event's data in a blob or in a store: its reader decodes and checks all of it. */
export const MOST_STORED = 32 * 1024 * 1024
export const blob = z.strictObject({ sha256, bytes: count })
/** Path of a folder within a run's folder: names joined by `/`. No name leads out of it. */
export const innerPath = z
  .string()
  .max(512)
  .regex(/^(?!.*(^|\/)\.{1,2}(\/|$))[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/)
/** A file that lies in the log as blobs. The parts, one after another, are its content. */
export const sharedFile = <Name extends z.ZodType<string>>(name: Name) =>
  z.strictObject({ name, sha256, parts: z.array(blob).max(4_096) })
/** Most characters of an endpoint's reasoning. */
export const MOST_REASONING = 4_000
/** Reasoning that an endpoint returned apart from its answer, as text. A longer one is cut to its end. */
export const reasoning = z.string().max(MOST_REASONING)
/** Number of successes among n rollouts. */
export const tally = z.strictObject({ successes: count, n: count })

/** Checks a tally of at least `least` rollouts. Returns what is wrong, or null. */
export function tallyWrong(name: string, { successes, n }: z.infer<typeof tally>, least = 0): string | null {
  if (successes > n) return `${name}: ${successes} of ${n} rollouts succeeded`
  return n < least ? `${name}: ${n} rollouts are no measurement` : null
}
/** Figures by name. */
export const metrics = z.record(z.string(), z.number())
/** Measured durations and rates. Only this part of `data` may differ between two equal runs. It is not in the event digest. */
export const timing = z.record(z.string(), z.union([z.number(), z.string()])).optional()
/** A task of the environment: see environments/port.ts. */
export const task = z.strictObject({
  id: name,
  environment: name,
  kind: name,
  goal: z.string().max(100_000),
  recipe: z.record(z.string(), z.unknown()),
})
