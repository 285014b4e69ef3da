/**
 * A real run that is kept alive as a supervisor would. Its head is started again whenever it ends before the
 * run is over.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { runFolder } from '../../src/broker/connection.ts'
import { RlError } from '../../src/errors.ts'
import type { EventType } from '../../src/events/catalogue.ts'
import { CATALOGUE } from '../../src/events/catalogue.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { ALL_PARTS } from '../../test/support/processes.ts'
import type { Victim } from './plan.ts'
import { processesBelow } from './processes.ts'

/** Types of events about the work of a run. Events about its processes are left out. */
export const WORK = (Object.keys(CATALOGUE) as EventType[]).filter(
  (type) => CATALOGUE[type].reproducible || type === 'RolloutFailed',
)

export type SoakedRun = {
  readonly run: string
  readonly log: () => LogReader
  readonly isComplete: () => boolean
  /** Returns the process id of a victim, or null while there is none. */
  readonly find: (victim: Victim) => number | null
  /** Whether the head ended although nobody killed it, and how: the last lines that it printed. */
  readonly ends: readonly string[]
  /** This end of the head is meant. */
  readonly excuse: () => void
  /** Ends all of its processes. */
  readonly stop: () => Promise<void>
}

export type SoakedRunOptions = {
  readonly run: string
  readonly root: string
  readonly settings: readonly string[]
  /** `dist/main.js`, or `src/main.ts`. */
  readonly main: string
  /** The broker to join, with its token. If null, the head starts its own. */
  readonly nats: { readonly url: string; readonly token: string } | null
}

const OUTPUT_KEPT = 2_000

export function startSoakedRun({ run, root, settings, main, nats }: SoakedRunOptions): SoakedRun {
  const folder = runFolder(run, root)
  const ends: string[] = []
  let head: ChildProcess | null = null
  let excused = false
  let stopping = false
  let reader: LogReader | null = null
  let ended: Promise<void> = Promise.resolve()

  function start(first: boolean): void {
    const set = first ? [...ALL_PARTS, ...settings.flatMap((setting) => ['--set', setting])] : []
    const join = nats ? ['--nats', nats.url] : []
    const child = spawn(
      process.execPath,
      ['bin/launch.mjs', main, '--role', 'head', '--run', run, ...join, ...set],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        // A process group of its own. A Ctrl-C at the terminal is for the soak, which then ends the head
        // itself.
        detached: true,
        env: { ...process.env, RL_RUNS: root, FORCE_COLOR: '0', ...(nats ? { NATS_TOKEN: nats.token } : {}) },
      },
    )
    head = child
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output = (output + chunk).slice(-OUTPUT_KEPT)
      })
    ended = new Promise((resolve) => {
      child.once('close', (status) => {
        resolve()
        if (stopping || isComplete()) return
        if (!excused) ends.push(`status ${status}: ${output.trim().split('\n').slice(-6).join(' | ')}`)
        excused = false
        start(!hasLog())
      })
    })
  }

  function hasLog(): boolean {
    try {
      return log().head().position > 0
    } catch (error) {
      if (error instanceof RlError) return false
      throw error
    }
  }

  function log(): LogReader {
    reader ??= openLogReader(folder.log)
    return reader
  }

  function isComplete(): boolean {
    return hasLog() && log().positionOf('key', 'RunCompleted') !== null
  }

  start(true)
  return {
    run,
    log,
    isComplete,
    ends,
    excuse() {
      excused = true
    },
    find: (victim) =>
      (head?.pid && head.exitCode === null ? processesBelow(head.pid).get(victim) : null) ?? null,
    async stop() {
      stopping = true
      head?.kill('SIGKILL')
      await ended
      reader?.close()
    },
  }
}
