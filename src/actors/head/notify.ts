/**
 * Tells a person who is not looking that a run needs them or is over: by a command of theirs, or by a POST to a URL.
 * What cannot be told never holds the run up.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { explain } from '../../errors.ts'
import type { EventType, LoggedEvent } from '../../events/catalogue.ts'
import { BY_A_PERSON } from '../../events/run-turn.ts'

/** News of a run. A command gets them as variables, a URL as JSON. */
type News = {
  readonly run: string
  readonly event: EventType
  readonly position: number
  /** One line, e.g. `run r1 is complete: 60 iterations`. */
  readonly text: string
}

export type Notifier = {
  readonly see: (event: LoggedEvent) => void
  /** Resolves when all is told, or given up. */
  readonly done: () => Promise<void>
}

/** Time for telling one thing. */
const TELL_MS = 10_000
/** Shortest time between two stalls that are told. */
const QUIET_MS = 5 * 60_000
/** Characters of a line that is told: a variable holds only so much, and nobody reads more. */
const MOST_TEXT = 1_000
/** Most that are told of one start, so that a loop of faults calls nobody a thousand times. */
const MOST = 100

/**
 * @param target a URL (`https://...`), a command for the shell, or `$NAME` for the variable that holds one of both
 * @param say hears what could not be told
 * @example openNotifier('notify-send "$RL_TEXT"', console.log)
 * @example openNotifier('$MY_WEBHOOK', console.log)
 */
export function openNotifier(
  target: string,
  say: (line: string) => void,
  env = process.env,
  tellMs = TELL_MS,
): Notifier {
  const named = /^\$([A-Za-z_]\w*)$/.exec(target)?.[1]
  const meant = named === undefined ? target : env[named]
  if (!meant) say(`nobody is told: ui.notify names the variable ${named}, which is not set`)
  const tell = !meant ? null : /^https?:\/\//.test(meant) ? post(meant, tellMs) : run(meant, env, tellMs)
  let last: Promise<void> = Promise.resolve()
  let told = 0
  let stalledAt = Number.NEGATIVE_INFINITY

  return {
    see(event) {
      const text = newsOf(event)
      if (text === null || tell === null || told >= MOST) return
      if (event.type === 'StallDetected') {
        if (performance.now() - stalledAt < QUIET_MS) return
        stalledAt = performance.now()
      }
      told++
      const { run, type, position } = event
      last = last
        .then(() => tell({ run, event: type, position, text: oneLine(text) }))
        // An error may name the URL, which may hold a secret.
        .catch((error: unknown) => say(`ui.notify could not tell of ${type}: ${reasonOf(error, tellMs)}`))
    },
    done: () => last,
  }
}

/** Returns the line that is told of an event, or null if nobody is told of it. */
export function newsOf(event: LoggedEvent): string | null {
  const { run } = event
  switch (event.type) {
    case 'StallDetected':
      return `run ${run} stalls: ${event.data.owner} waits for ${event.data.waitingFor}`
    case 'RunFailed':
      return `run ${run} failed: ${event.data.reason}`
    case 'RunPaused':
      return event.data.reason === BY_A_PERSON ? null : `run ${run} is paused: ${event.data.reason}`
    case 'RunCompleted':
      return `run ${run} is complete: ${event.data.iterations} iterations`
    default:
      return null
  }
}

/** Chat services read `text`. */
function post(url: string, tellMs: number) {
  return async (news: News): Promise<void> => {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(news),
      redirect: 'manual',
      signal: AbortSignal.timeout(tellMs),
    })
    await answer.body?.cancel()
    if (!answer.ok) throw new Failed(`the URL answers with status ${answer.status}`)
  }
}

/** Texts of a run stand in variables alone: in the words of a shell they could be commands. */
function run(command: string, env: NodeJS.ProcessEnv, tellMs: number) {
  return ({ run, event, position, text }: News): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = spawn(command, {
        shell: true,
        stdio: 'ignore',
        // A group of its own, so that all of it can be ended.
        detached: process.platform !== 'win32',
        windowsHide: true,
        env: { ...env, RL_RUN: run, RL_EVENT: event, RL_POSITION: String(position), RL_TEXT: text },
      })
      const late = setTimeout(() => {
        killAll(child)
        reject(new Failed(noAnswer(tellMs)))
      }, tellMs)
      child.once('error', (error) => {
        clearTimeout(late)
        reject(error)
      })
      child.once('exit', (status, signal) => {
        clearTimeout(late)
        if (status === 0) resolve()
        else reject(new Failed(`the command ended with ${signal ?? `status ${status}`}`))
      })
    })
}

/** Kills the shell and all that it started. */
function killAll(child: ChildProcess): void {
  try {
    if (child.pid !== undefined && process.platform !== 'win32') process.kill(-child.pid, 'SIGKILL')
    else child.kill('SIGKILL')
  } catch {
    // It is gone already.
  }
}

/** A reason may be an output of a program, with anything in it. */
function oneLine(text: string): string {
  const line = text.slice(0, 2 * MOST_TEXT).replace(/[\p{Cc}\s]+/gu, ' ')
  return line.length > MOST_TEXT ? `${line.slice(0, MOST_TEXT)}…` : line
}

/** A failure whose message holds no secret. */
class Failed extends Error {}

function noAnswer(ms: number): string {
  return `no answer within ${ms / 1000} s`
}

function reasonOf(error: unknown, tellMs: number): string {
  if (error instanceof Failed) return error.message
  const { name, cause } = error as Error
  if (name === 'TimeoutError') return noAnswer(tellMs)
  return cause === undefined
    ? 'it cannot be reached'
    : explain((cause as NodeJS.ErrnoException).code ?? 'it cannot be reached')
}
