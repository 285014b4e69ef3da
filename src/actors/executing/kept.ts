/** Results that the executors of a run share, by the digest of all that they depend on. A cache: what is missing is worked out again. */
import type { Kept } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { Bus } from '../../events/bus.ts'
import { JETSTREAM_HINT } from '../../events/jetstream.ts'
import type { LogClient } from '../../events/log-client.ts'
import { subjectsOf } from '../../events/subjects.ts'

const streamOf = (run: string) => `rl-${run}-kept`
/** The oldest go when there are more. */
const MOST_BYTES = 256 << 20
/** Larger ones are not kept. */
const ITEM_BYTES = 256 << 10
const ANSWER_MS = 2_000

/** Made by the head, as all streams are. */
export async function makeKept(bus: Bus, run: string): Promise<void> {
  const stream = {
    name: streamOf(run),
    subjects: [subjectsOf(run).kept('*')],
    storage: 'file',
    retention: 'limits',
    discard: 'old',
    max_msgs_per_subject: 1,
    max_msgs: -1,
    max_bytes: MOST_BYTES,
    max_age: 0,
    num_replicas: 1,
    // Nobody may ask that way (permissions.ts); a stream that was made so is not made anew.
    allow_direct: true,
  }
  const subject = `$JS.API.STREAM.CREATE.${stream.name}`
  const answer = await bus.request(subject, Buffer.from(JSON.stringify(stream)), { timeoutMs: ANSWER_MS })
  const { error } = JSON.parse(Buffer.from(answer).toString()) as { error?: { description: string } }
  if (error)
    throw new RlError(`${stream.name} cannot be made: ${error.description}`, {
      code: 'bus.no-jetstream',
      hint: JETSTREAM_HINT,
    })
}

export function openKept({ bus, run }: LogClient): Kept {
  const subjects = subjectsOf(run)
  return {
    async get(key) {
      const ask = Buffer.from(JSON.stringify({ last_by_subj: subjects.kept(key) }))
      try {
        const subject = `$JS.API.STREAM.MSG.GET.${streamOf(run)}`
        const answer = await bus.request(subject, ask, { timeoutMs: ANSWER_MS })
        const { message } = JSON.parse(Buffer.from(answer).toString()) as { message?: { data?: string } }
        return message?.data ? Buffer.from(message.data, 'base64') : null
      } catch {
        return null
      }
    },
    set(key, bytes) {
      if (bytes.byteLength <= ITEM_BYTES && bus.connected()) bus.publish(subjects.kept(key), bytes)
    },
  }
}
