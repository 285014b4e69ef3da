/** The envelope of every event, on the bus and in the log. */
import { z } from 'zod'

/** Run ids become subject tokens and folder names: small letters, digits and dashes, 1 to 32 of them. */
export const RUN_ID = /^[a-z0-9][a-z0-9-]{0,31}$/

export const ROLES = ['head', 'policy', 'reward-model', 'environment', 'adapter'] as const
export type Role = (typeof ROLES)[number]

export const envelopeSchema = z.strictObject({
  /** UUIDv7, made by the emitter: sending the same event again is harmless. */
  id: z.uuid(),
  type: z.string().min(1).max(64),
  /** Schema version of `data`. */
  v: z.int().positive(),
  run: z.string().regex(RUN_ID),
  /** Author: a role, or `role/worker`. */
  actor: z.string().min(1).max(96),
  /** Milliseconds since 1970, set by the emitter. */
  time: z.number().nonnegative(),
  /** Id of the event that led to this one. */
  cause: z.uuid().nullable(),
  /** W3C traceparent. Absent in logs of 0.1. */
  trace: z
    .string()
    .regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/)
    .optional(),
  data: z.unknown(),
})

export type Envelope = z.infer<typeof envelopeSchema>
