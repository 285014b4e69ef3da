/** Keeps the projections of a running run. Readers beside it see whole iterations. */
import type { Worker } from 'node:worker_threads'
import type { RunFolder } from '../../broker/connection.ts'
import { pause } from '../../clock.ts'
import { explain } from '../../errors.ts'
import { startThread } from '../../package.ts'
import { makePrivateFile } from '../../platform/files.ts'
import type { Asked, Followed, ProjectionsThreadData } from './projections-thread.ts'

export type LiveProjections = {
  /** Lets every projection be brought to the end of the log. */
  readonly follow: () => void
  /** Resolves when all that was asked for is in the file, or after a while without it. */
  readonly close: () => Promise<void>
}

export type LiveProjectionsOptions = {
  readonly folder: RunFolder
  /** Modules with a user's own (`projections.modules`). */
  readonly modules: readonly string[]
  readonly say: (line: string) => void
}

const CLOSE_MS = 30_000

export function openLiveProjections({ folder, modules, say }: LiveProjectionsOptions): LiveProjections {
  makePrivateFile(folder.projections)
  const told = new Set<string>()
  let thread: Worker | null = null
  let failed = false

  function start(): Worker {
    const data: ProjectionsThreadData = { path: folder.projections, log: folder.log, modules }
    const started = startThread(new URL('./projections-thread.ts', import.meta.url), data)
    started.on('message', ({ failed }: Followed) => {
      for (const [name, reason] of failed) {
        if (!told.has(name)) say(`the projection '${name}' has failed and is set aside: ${reason}`)
        told.add(name)
      }
    })
    started.on('error', (error) => {
      failed = true
      say(
        `projections are kept no longer: ${explain(error)}; rl projections ${folder.run} rebuild makes them anew`,
      )
    })
    return started
  }

  function ask(asked: Asked): void {
    thread?.postMessage(asked)
  }

  return {
    follow() {
      if (failed) return
      thread ??= start()
      ask('follow')
    },
    async close() {
      if (thread === null || failed) return
      const ended = new AbortController()
      thread.once('exit', () => ended.abort())
      ask('end')
      await pause(CLOSE_MS, ended.signal)
      await thread.terminate()
    },
  }
}
