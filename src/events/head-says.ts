/** Announcements of a head: twice a second, lossy, on `tap.head`. */
import { z } from 'zod'
import { parseRequest } from './log-protocol.ts'
import type { Bounds } from './msgpack.ts'

const SAID_BOUNDS: Bounds = { bytes: 1024, values: 32 }

export const headSays = z.object({
  position: z.int().nonnegative(),
  hash: z.string().max(64).optional(),
  epoch: z.int().nonnegative().optional(),
  /** Present if a person has paused the run: no new rollout begins. */
  paused: z.boolean().optional(),
  /** Present if the run is over: this head ends, and no other follows. */
  over: z.boolean().optional(),
  /** Places of hosts that are put aside. Absent if there are none. */
  aside: z.array(z.string().max(16)).max(16).optional(),
})

/** Decodes and checks an announcement of the head. Errors: `event.malformed`, `bus.bad-request`. */
export function readHeadSays(body: Uint8Array): z.infer<typeof headSays> {
  return parseRequest(headSays, body, SAID_BOUNDS)
}
