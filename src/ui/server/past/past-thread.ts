/**
 * Builds and answers the past of a run, in a thread of its own. Pages wait for no fold, and a log that no decider can read
 * ends this thread alone.
 */
import '../../../setting-packages.ts'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { explain, RlError } from '../../../errors.ts'
import { openLogReader } from '../../../events/log-reader.ts'
import type { Fault } from '../../logic/answers.ts'
import { removeCacheFile, saysDamage } from '../cache-file.ts'
import { type Answers, type Asks, answerers } from './asks.ts'
import { openPast } from './past.ts'

export type PastThreadData = { readonly log: string; readonly file: string }
export type Asked = { readonly id: number; readonly what: keyof Asks; readonly about: Asks[keyof Asks] }
export type Answered = {
  readonly id: number
  readonly answer?: Answers[keyof Answers]
  readonly fault?: Fault
}

const port = parentPort
if (port === null) throw new TypeError('this module is the entry of a thread')
const { log: path, file } = workerData as PastThreadData
// On Linux this is the priority of the thread. Elsewhere it would be that of the whole process.
if (process.platform === 'linux') setPriority(5)

const log = openLogReader(path)
let past = openPast(log, file)
let answers = answerers(log, past)
let isBuilding = false
port.postMessage('ready')

/** Builds a slice, and goes on with the next one later. */
function build(): void {
  isBuilding = orAnew(() => past.build())
  if (isBuilding) setImmediate(build)
}

/** Does work on what is kept. If that is damaged, it is thrown away, and the work is done on an empty one. */
function orAnew<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!saysDamage(error)) throw error
    past.close()
    removeCacheFile(file)
    past = openPast(log, file)
    answers = answerers(log, past)
    return work()
  }
}

port.on('message', ({ id, what, about }: Asked) => {
  try {
    if (!isBuilding) build()
    const answer = orAnew(() => (answers[what] as (about: Asks[keyof Asks]) => Answers[keyof Answers])(about))
    port.postMessage({ id, answer } satisfies Answered)
  } catch (error) {
    port.postMessage({ id, fault: faultOf(error) } satisfies Answered)
  }
})

function faultOf(error: unknown): Fault {
  return error instanceof RlError
    ? { code: error.code, message: error.message, hint: error.hint ?? null }
    : { code: 'ui.past', message: explain(error), hint: null }
}
