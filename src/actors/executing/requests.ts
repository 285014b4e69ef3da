/**
 * Requests to executors and their answers. A request goes through the run's work queue, so another executor takes it if
 * the first one dies. The answer goes to the asker's own inbox. The log holds neither: a program's output is no fact of
 * the run.
 */
import { z } from 'zod'
import type { Bus, WorkQueue } from '../../events/bus.ts'
import type { BlobRef } from '../../events/codec.ts'
import type { LogClient } from '../../events/log-client.ts'
import { parseRequest } from '../../events/log-protocol.ts'
import { type Bounds, pack } from '../../events/msgpack.ts'
import { subjectsOf } from '../../events/subjects.ts'
import { isInbox } from '../../events/users.ts'

export const executorQueue = (run: string): WorkQueue => ({
  name: `rl-${run}-work-executors`,
  subject: subjectsOf(run).work('executors'),
})

/** Bytes, or where they are if a message cannot hold them. */
const carried = z.union([
  z.custom<Uint8Array>((value) => value instanceof Uint8Array),
  z.strictObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/), bytes: z.int().nonnegative() }),
])

const requestSchema = z.strictObject({
  id: z.string().min(1).max(64),
  reply: z.string().max(256).refine(isInbox),
  /** Milliseconds since 1970 by the asker's clock: nobody waits any more. */
  until: z.number(),
  /** The most that one try may take. */
  deadlineMs: z.number().positive(),
  work: carried,
})
export type ExecutorRequest = z.infer<typeof requestSchema>

const answerSchema = z.union([
  z.strictObject({ id: z.string().max(64), result: carried }),
  z.strictObject({ id: z.string().max(64), error: z.string().max(4000) }),
])
export type ExecutorAnswer = z.infer<typeof answerSchema>

export const packRequest = (request: ExecutorRequest): Uint8Array => pack(request)
export const packAnswer = (answer: ExecutorAnswer): Uint8Array => pack(answer)
/** Bounds of a message. Larger contents are carried as a blob. */
const BOUNDS: Bounds = { bytes: 1_048_576, values: 32 }

/** Reads a request. Throws if the bytes are no request. `readAnswer` does the same for answers. */
export const readRequest = (body: Uint8Array): ExecutorRequest => parseRequest(requestSchema, body, BOUNDS)
export const readAnswer = (body: Uint8Array): ExecutorAnswer => parseRequest(answerSchema, body, BOUNDS)

/** Room for the other fields of a message. */
const HEAD_BYTES = 65_536

/** Returns the form in which a message holds these bytes: large ones become a blob of the run. */
export async function carry(bus: Bus, log: LogClient, bytes: Uint8Array): Promise<Uint8Array | BlobRef> {
  return bytes.byteLength <= Math.min(bus.maxPayload(), 1_048_576) - HEAD_BYTES ? bytes : log.putBlob(bytes)
}

export async function unload(log: LogClient, body: Uint8Array | BlobRef): Promise<Uint8Array> {
  return body instanceof Uint8Array ? body : log.getBlob(body)
}
