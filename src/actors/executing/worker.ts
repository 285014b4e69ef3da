/** The worker of an executor: takes what other processes of the run ask for, does it with the setting, and answers. It plays and judges nothing. */
import { within } from '../../clock.ts'
import type { Config } from '../../config.ts'
import type { EnvironmentConfig } from '../../config-schema/sections.ts'
import { sectionOf } from '../../environments/sections.ts'
import { partOf } from '../../environments/setting.ts'
import { loadSetting } from '../../environments/settings.ts'
import { explain, RlError } from '../../errors.ts'
import type { Delivery, WorkResult } from '../../events/bus.ts'
import type { LogClient } from '../../events/log-client.ts'
import { lateEnd } from '../runtime/late-work.ts'
import type { AnsweredWork, AnsweringContext, OpenedWorker } from '../runtime/worker.ts'
import { openKeptResults } from './kept.ts'
import { carry, type ExecutorRequest, executorQueue, packAnswer, readRequest, unload } from './requests.ts'

/** Opens an executor. Errors: `setting.lacks` if separate hosts can do nothing for the run's setting. */
export async function openExecutor(config: Config, log: LogClient): Promise<OpenedWorker> {
  const setting = await loadSetting(config.environment)
  const executing = partOf(setting, 'executing', 'the role executor')
  const opened = await executing.open(config, sectionOf(setting, config.environment), openKeptResults(log))
  const { perform, counters, concurrency } = opened
  return {
    note: `executor: ${opened.note}`,
    worker: {
      jobs: {},
      answers: [answeringWork(log.run, concurrency, perform)],
      counters,
      close: () => opened.close(),
    },
  }
}

/** Returns the number of executors that the head starts, or null if the run has none. */
export async function executorsOf(environment: EnvironmentConfig): Promise<number | null> {
  const setting = await loadSetting(environment)
  return setting.executing?.processes(sectionOf(setting, environment)) ?? null
}

const DONE: WorkResult = { done: true }
/** Largest difference between the clocks of hosts. */
const CLOCKS_MS = 60_000

export function answeringWork(
  run: string,
  concurrency: number,
  perform: (work: Uint8Array, signal: AbortSignal) => Promise<Uint8Array>,
): AnsweredWork {
  async function take({ subject, body, attempt }: Delivery, context: AnsweringContext): Promise<WorkResult> {
    const { bus, attempts, stopping } = context
    let request: ExecutorRequest
    try {
      request = readRequest(body)
    } catch (error) {
      bus.fault({ subject, body, error })
      return DONE
    }
    const { id, reply, until, deadlineMs } = request
    if (Date.now() > until + CLOCKS_MS) return DONE // the asker has given up
    const answer = async (message: Uint8Array) => {
      bus.publish(reply, message)
      await bus.flush()
      return DONE
    }
    if (attempt > attempts)
      return answer(packAnswer({ id, error: `${attempts} tries ended without a result` }))
    const work = resultOf(request, context)
    try {
      return await answer(await within(work, deadlineMs, () => late(deadlineMs)))
    } catch (error) {
      if (stopping.aborted) return { done: false, againMs: 1 }
      const busy = lateEnd(work, deadlineMs, stopping)
      // This may be a fault of this host, so another one tries. The effect of a program is a result, not an error.
      if (attempt < attempts) return { done: false, againMs: Math.min(5_000, 100 * 2 ** attempt), busy }
      return { ...(await answer(packAnswer({ id, error: explain(error).slice(0, 2000) }))), busy }
    }
  }

  async function resultOf(
    { id, work, deadlineMs }: ExecutorRequest,
    { bus, log, stopping }: AnsweringContext,
  ): Promise<Uint8Array> {
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(deadlineMs)])
    const result = await perform(await unload(log, work), signal)
    return packAnswer({ id, result: await carry(bus, log, result) })
  }

  return { queue: executorQueue(run), concurrency, take }
}

const late = (deadlineMs: number) =>
  new RlError(`it was not done within ${Math.round(deadlineMs / 1000)} s and was aborted`, {
    code: 'executor.late',
  })
