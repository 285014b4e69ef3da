/** The asking side of executors: each request has a deadline, and this process owns it until then. */
import { randomBytes } from 'node:crypto'
import type { Elsewhere } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { LogClient } from '../../events/log-client.ts'
import { callInboxOf } from '../../events/users.ts'
import { type Platform, systemPlatform } from '../../platform/platform.ts'
import { openQueuedWork, queueStall } from '../runtime/queued-work.ts'
import { carry, executorQueue, packRequest, readAnswer, unload } from './requests.ts'

export type OpenElsewhere = Elsewhere & { readonly close: () => void }

type Asked = { readonly resolve: (result: Uint8Array) => void; readonly reject: (error: unknown) => void }

/** @param deadlineMs how long a request may wait and be worked on, all tries together */
export function openElsewhere(
  log: LogClient,
  deadlineMs: number,
  platform: Platform = systemPlatform,
): OpenElsewhere {
  const { bus, run } = log
  const { clock } = platform
  const queue = executorQueue(run)
  const inbox = `${callInboxOf(bus.user)}.${randomBytes(16).toString('hex')}`
  const asked = new Map<string, Asked>()
  const queued = openQueuedWork({
    bus,
    queue,
    clock,
    onTrouble: (trouble) =>
      void log.append([queueStall('executing', queue.name, trouble)]).catch(() => {
        // The asker is told at its deadline.
      }),
  })
  const unsubscribe = bus.subscribe(inbox, ({ body }) => {
    const answer = readAnswer(body)
    const one = asked.get(answer.id)
    if (!one) return // answered before: two took it
    if ('error' in answer)
      return one.reject(
        new RlError(`no executor did it: ${answer.error}`, {
          code: 'executor.failed',
          hint: 'see the logs of the processes with --role executor',
        }),
      )
    void unload(log, answer.result).then(one.resolve, one.reject)
  })

  async function perform(work: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
    const id = platform.newId()
    const until = clock.now() + deadlineMs
    const body = packRequest({ id, reply: inbox, until, deadlineMs, work: await carry(bus, log, work) })
    signal?.throwIfAborted()
    let leave = () => {}
    try {
      return await new Promise<Uint8Array>((resolve, reject) => {
        const abort = () => reject(signal?.reason)
        const endTimer = clock.after(deadlineMs, () => reject(late(run, deadlineMs)))
        signal?.addEventListener('abort', abort, { once: true })
        leave = () => {
          endTimer()
          signal?.removeEventListener('abort', abort)
        }
        asked.set(id, { resolve, reject })
        queued.open(id, () => ({ subject: queue.subject, body, id }))
      })
    } finally {
      leave()
      asked.delete(id)
      queued.close(id)
    }
  }

  return {
    perform,
    close() {
      unsubscribe()
      queued.stop()
      const closed = new RlError('this process ends', { code: 'executor.closed' })
      for (const { reject } of asked.values()) reject(closed)
    },
  }
}

const late = (run: string, deadlineMs: number) =>
  new RlError(`no executor answered within ${Math.round(deadlineMs / 1000)} s`, {
    code: 'executor.late',
    hint: `npm start -- --role executor --run ${run} starts one; rl status ${run} tells which there are`,
  })
