/**
 * A thread beside a process that calls a user's code. If the process's event loop no longer turns, the thread tells the
 * last call.
 */
import { writeSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
import { type HeldThreadData, readHeld } from './held.ts'

const { shared, afterMs } = workerData as HeldThreadData
let last = -1
let sinceMs = performance.now()
let told = false

setInterval(
  () => {
    const { turns, call } = readHeld(shared)
    if (turns !== last) {
      last = turns
      sinceMs = performance.now()
      told = false
      return
    }
    if (told || performance.now() - sinceMs < afterMs || call === '') return
    told = true
    // The process writes nothing itself. The head keeps this line in the role's log.
    writeSync(2, `held for ${Math.round(afterMs / 1000)} s; the last call of a user's code: ${call}\n`)
  },
  Math.min(1000, afterMs / 4),
)
