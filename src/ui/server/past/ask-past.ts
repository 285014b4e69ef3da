/** Asks the thread that keeps the past of a run. It is started by the first question, and ends a minute after the last. */
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { pause } from '../../../clock.ts'
import { explain, RlError } from '../../../errors.ts'
import type { LogReader } from '../../../events/log-reader.ts'
import { cachePlace, startThread } from '../../../package.ts'
import { makePrivateFolder } from '../../../platform/files.ts'
import type { Answers, Asks } from './asks.ts'
import type { Answered, Asked, PastThreadData } from './past-thread.ts'

export type AskPast = {
  /**
   * @throws RlError `ui.past` if the deciders cannot read the log, and those of the log
   */
  readonly ask: <A extends keyof Asks>(what: A, about: Asks[A]) => Promise<Answers[A]>
  /**
   * Asks, and returns null if there is no answer within a short time. The page asks again.
   * @throws as `ask`
   */
  readonly askSoon: <A extends keyof Asks>(what: A, about: Asks[A]) => Promise<Answers[A] | null>
  readonly close: () => void
}

const IDLE_MS = 60_000
/** A page waits no longer for what is only a part of it. */
const SOON_MS = 300
/** Most of what a fold makes is garbage at once: a small nursery holds it as well as a large one. */
const HEAP = { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: 256 }

type Open = {
  readonly resolve: (answer: Answers[keyof Answers]) => void
  readonly reject: (error: unknown) => void
}

export function askPast(log: LogReader): AskPast {
  const open = new Map<number, Open>()
  const ready = new WeakSet<Worker>()
  let thread: Worker | null = null
  let last = 0
  let idle: NodeJS.Timeout | undefined

  /** A thread that owes no answer keeps no process alive. */
  function rest(own: Worker): void {
    if (open.size === 0) own.unref()
  }

  function start(): Worker {
    const data: PastThreadData = { log: log.path, file: fileOf(log) }
    const started = startThread(new URL('./past-thread.ts', import.meta.url), data, HEAP)
    started.once('message', () => {
      ready.add(started)
      rest(started)
      if (thread !== started) void started.terminate()
    })
    started.on('message', (message: Answered | 'ready') => {
      if (message === 'ready') return
      const { id, answer, fault } = message
      const waiting = open.get(id)
      open.delete(id)
      rest(started)
      if (answer !== undefined) waiting?.resolve(answer)
      else
        waiting?.reject(
          new RlError(fault?.message ?? '', {
            code: fault?.code ?? 'ui.past',
            hint: fault?.hint ?? undefined,
          }),
        )
    })
    started.on('error', (error) => end(error))
    return started
  }

  /**
   * Ends the thread. The next question starts another. A thread that still loads SQLite is ended once it has: the end
   * of a thread in the middle of that would end the process.
   */
  function end(error: unknown): void {
    if (thread !== null && ready.has(thread)) void thread.terminate()
    thread = null
    clearTimeout(idle)
    const waiting = [...open.values()]
    open.clear()
    for (const { reject } of waiting)
      reject(
        error instanceof RlError
          ? error
          : new RlError(`the states of run '${log.run}' cannot be told: ${explain(error)}`, {
              code: 'ui.past',
              hint: `rl replay ${log.run} tells what the deciders make of its log`,
              cause: error,
            }),
      )
  }

  function ask<A extends keyof Asks>(what: A, about: Asks[A]): Promise<Answers[A]> {
    return new Promise((resolve, reject) => {
      const id = ++last
      thread ??= start()
      thread.ref()
      clearTimeout(idle)
      idle = setTimeout(() => end('it was idle'), IDLE_MS).unref()
      open.set(id, { resolve: resolve as Open['resolve'], reject })
      thread.postMessage({ id, what, about } satisfies Asked)
    })
  }

  return {
    ask,
    async askSoon(what, about) {
      const late = new AbortController()
      try {
        return await Promise.race([ask(what, about), pause(SOON_MS, late.signal).then(() => null)])
      } finally {
        late.abort()
      }
    },
    close: () => end('the pages are closed'),
  }
}

/** Without a folder for a cache, the past is built anew at each start. */
function fileOf(log: LogReader): string {
  try {
    const folder = cachePlace('ui', `${log.run}-${log.hashAt(1).slice(0, 16)}`)
    makePrivateFolder(folder)
    return join(folder, 'past.db')
  } catch {
    return ':memory:'
  }
}
