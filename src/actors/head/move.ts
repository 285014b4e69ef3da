/** The head's answer on `call.head.move`: it gives its run to the standby of another host. */
import { z } from 'zod'
import { RlError } from '../../errors.ts'
import type { Bus } from '../../events/bus.ts'
import { parseRequest } from '../../events/log-protocol.ts'
import { type Bounds, pack } from '../../events/msgpack.ts'
import { subjectsOf } from '../../events/subjects.ts'
import { livingStandby } from './standby.ts'

/** Name of the call. */
export const MOVE = 'head.move'

const moveRequest = z.strictObject({ host: z.string().min(1).max(256) })

export const moveAnswer = z.object({
  host: z.string(),
  /** Last position of the standby's copy of the log. It reads on to the end before it answers. */
  position: z.number(),
})
export type MoveAnswer = z.infer<typeof moveAnswer>

const BOUNDS: Bounds = { bytes: 2_048, values: 8 }

/**
 * Answers requests to move the head. The answer goes out before the head ends.
 *
 * @param onMove hears of the host
 * @returns a function that ends it
 */
export function serveMove(
  bus: Bus,
  run: string,
  replicated: boolean,
  onMove: (host: string) => void,
): () => void {
  return bus.serve(subjectsOf(run).call(MOVE), null, async (body) => {
    const { host } = parseRequest(moveRequest, body, BOUNDS)
    const word = replicated ? await livingStandby(bus, run, host) : null
    if (word === null)
      throw new RlError(`no standby of run '${run}' lives at host '${host}'`, {
        code: 'head.no-standby',
        hint: replicated
          ? `start one there: npm start -- --role head --standby --run ${run} --nats URL,URL,URL`
          : 'its log is on this host alone: a run that moves begins with --set run.replicas=3',
      })
    setImmediate(() => onMove(host))
    return pack({ host, position: word.position } satisfies MoveAnswer)
  })
}
