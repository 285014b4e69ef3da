/** Compares two logs in a thread of its own: it reads both from the first event on, and pages go on meanwhile. */
import '../../setting-packages.ts'
import { parentPort, workerData } from 'node:worker_threads'
import { explain, RlError } from '../../errors.ts'
import { openLogReader } from '../../events/log-reader.ts'
import { diffRuns, type RunDiff } from '../../replay/diff.ts'
import type { Fault } from '../logic/answers.ts'

/** Paths of both logs. */
export type CompareThreadData = { readonly a: string; readonly b: string }
export type Compared = { readonly diff: RunDiff } | { readonly fault: Fault }

const port = parentPort
if (port === null) throw new TypeError('this module is the entry of a thread')

function compare({ a: pathOfA, b: pathOfB }: CompareThreadData): Compared {
  try {
    const a = openLogReader(pathOfA)
    try {
      const b = openLogReader(pathOfB)
      try {
        return { diff: diffRuns(a, b) }
      } finally {
        b.close()
      }
    } finally {
      a.close()
    }
  } catch (error) {
    if (error instanceof RlError)
      return { fault: { code: error.code, message: error.message, hint: error.hint ?? null } }
    return { fault: { code: 'ui.fault', message: explain(error), hint: null } }
  }
}

port.postMessage(compare(workerData as CompareThreadData))
