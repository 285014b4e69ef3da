/**
 * Actions of a page: each is an `rl` command in a process of its own. Commands that ask a model run one at a time, at a
 * low priority.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import { RlError } from '../../errors.ts'
import { compileCache, nodeWords } from '../../package.ts'
import { askToEnd } from '../../platform/processes.ts'
import type { Job } from '../logic/answers.ts'
import type { Action } from './actions.ts'

export type Jobs = {
  /** @throws RlError `ui.busy` if too many jobs wait */
  readonly start: (run: string, action: Action) => Job
  /** @throws RlError `ui.no-job` */
  readonly find: (id: number) => Job
  /** Ends a job, or takes it out of the queue. */
  readonly end: (id: number) => Job
  readonly close: () => void
}

const RL = nodeWords(new URL('../../rl.ts', import.meta.url))
/** Jobs that are kept, with those that are over. */
const KEPT = 50
const MOST_WAITING = 8
const MOST_OUTPUT = 1024 * 1024
const LOW = 15

type Own = { job: Job; readonly action: Action; child: ChildProcess | null }

export function openJobs(): Jobs {
  const jobs: Own[] = []
  let last = 0

  function find(id: number): Own {
    const own = jobs.find(({ job }) => job.id === id)
    if (own) return own
    throw new RlError(`there is no job ${id}`, { code: 'ui.no-job', hint: 'the server was started anew' })
  }

  function next(): void {
    const works = jobs.some(({ job, action }) => job.state === 'runs' && action.asksModel)
    for (const own of jobs) {
      if (own.job.state !== 'waits' || (own.action.asksModel && works)) continue
      begin(own)
      if (own.action.asksModel) return
    }
  }

  function begin(own: Own): void {
    const { words, asksModel, mostSeconds } = own.action
    let output = ''
    let errors = ''
    let isLarge = false
    const settle = (state: Job['state'], error: string | null): void => {
      if (own.job.state !== 'runs') return
      clearTimeout(timer)
      own.child = null
      own.job = {
        ...own.job,
        state,
        error,
        endedAt: Date.now(),
        result: state === 'done' ? parse(output) : null,
      }
      next()
    }
    own.job = { ...own.job, state: 'runs', startedAt: Date.now() }
    const child = spawn(process.execPath, [...RL, ...words, '--json'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...compileCache(), ...process.env },
    })
    const timer = setTimeout(() => {
      settle('failed', `it took more than ${mostSeconds} s and was ended`)
      child.kill('SIGKILL')
    }, mostSeconds * 1000)
    own.child = child
    if (asksModel && child.pid !== undefined) setPriority(child.pid, LOW)
    // A letter of several bytes may come in two parts.
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      if (output.length + part.length > MOST_OUTPUT) isLarge = true
      else output += part
    })
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      errors = `${errors}${part}`.slice(-4_096)
    })
    child.once('error', (error) => settle('failed', error.message))
    child.once('close', (status, signal) => {
      if (isLarge) settle('failed', 'its answer is larger than 1 MB: run the command in a terminal')
      else if (status === 0) settle('done', null)
      else settle('failed', errors.trim() || `it ended with ${signal ?? `status ${status}`}`)
    })
  }

  return {
    start(run, action) {
      if (jobs.filter(({ job }) => job.state === 'waits').length >= MOST_WAITING)
        throw new RlError(`${MOST_WAITING} jobs wait already`, {
          code: 'ui.busy',
          hint: 'wait for one to end, or end one',
        })
      last++
      const job: Job = {
        id: last,
        run,
        command: action.command,
        state: 'waits',
        startedAt: null,
        endedAt: null,
        result: null,
        error: null,
      }
      const own: Own = { job, action, child: null }
      jobs.push(own)
      const over = jobs.filter(({ job }) => job.endedAt !== null)
      for (const old of over.slice(0, Math.max(0, jobs.length - KEPT))) jobs.splice(jobs.indexOf(old), 1)
      next()
      return own.job
    },
    find: (id) => find(id).job,
    end(id) {
      const own = find(id)
      if (own.child) askToEnd(own.child)
      else if (own.job.state === 'waits')
        own.job = { ...own.job, state: 'failed', error: 'taken back', endedAt: Date.now() }
      return own.job
    },
    close() {
      for (const { child } of jobs) child?.kill('SIGKILL')
    },
  }
}

/** Commands print JSON with `--json`. What is none is shown as text. */
function parse(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return output.slice(0, 20_000)
  }
}
