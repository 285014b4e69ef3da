/**
 * One run of an ablation: an ordinary head in its own process, started or resumed, and its row at the end.
 */
import { spawn } from 'node:child_process'
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { runFolder } from '../broker/connection.ts'
import { configKeys, variableOf } from '../config/keys.ts'
import { RlError } from '../errors.ts'
import { openLogReader } from '../events/log-reader.ts'
import { hasBegun } from '../events/starts.ts'
import { compileCache, nodeWords } from '../package.ts'
import { takeFileLock } from '../platform/file-lock.ts'
import { type Row, rowOf } from './row.ts'
import { SETTINGS, type Setting } from './settings.ts'

const MAIN = nodeWords(new URL('../main.ts', import.meta.url))

export type HeadRun = {
  readonly setting: Setting
  readonly seed: number
}

export type HeadRunOptions = {
  /** Key of the ablation, used in names. */
  readonly key: string
  /** YAML file with the config before the setting's changes. */
  readonly configFile: string
  /** Words of `--set` with which it begins. */
  readonly words: readonly string[]
  /** Lines that the head prints. */
  readonly onLine: (line: string) => void
  /** Ends the run in an orderly way. It can be resumed. */
  readonly signal: AbortSignal
}

export function runId({ setting, seed }: HeadRun, key: string): string {
  return `ablate-${key}-${SETTINGS[setting].short}-s${seed}`
}

/** The row of a run that an earlier call has completed, else null. */
export function completedRow(run: HeadRun, key: string): Row | null {
  const { log: path } = runFolder(runId(run, key))
  if (!hasBegun(path)) return null
  const log = openLogReader(path)
  try {
    return rowOf(log, run.setting, run.seed)
  } finally {
    log.close()
  }
}

/**
 * Plays a run to its end. Resolves to null if it was interrupted.
 * @throws RlError `ablate.run-failed`
 */
export async function playRun(run: HeadRun, options: HeadRunOptions): Promise<Row | null> {
  const { key, configFile, onLine, signal } = options
  const id = runId(run, key)
  const { folder, log } = runFolder(id)
  mkdirSync(join(folder, 'logs'), { recursive: true })
  await freeOfWriter(folder, signal)
  const begun = hasBegun(log)
  const words = begun ? [] : options.words.flatMap((word) => ['--set', word])
  const head = spawn(
    process.execPath,
    [...MAIN, '--role', 'head', '--run', id, '--config', configFile, ...words],
    // A group of its own: a Ctrl-C at the terminal reaches the heads through this process alone, once. The channel tells the head
    // if this process is killed: then the run ends in good order too.
    {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
      env: { ...compileCache(), ...withoutConfig(process.env) },
    },
  )
  const stop = () => head.kill('SIGINT')
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const file = createWriteStream(join(folder, 'logs', 'head.log'), { flags: 'a' })
  let last = ''
  for (const stream of [head.stdout!, head.stderr!])
    createInterface({ input: stream }).on('line', (line) => {
      file.write(`${line}\n`)
      if (line.trim() !== '') last = line
      onLine(line)
    })
  const status = await new Promise<number | null>((resolve, reject) => {
    head.once('error', reject)
    head.once('close', resolve)
  })
  signal.removeEventListener('abort', stop)
  file.end()
  if (signal.aborted) return null
  const row = status === 0 ? completedRow(run, key) : null
  if (row === null)
    throw new RlError(`run ${id} ended with status ${status}: ${last}`, {
      code: 'ablate.run-failed',
      hint: `see ${join(folder, 'logs', 'head.log')}; --resume goes on with it`,
    })
  return row
}

/** A head whose ablation was killed needs a moment to end its run. */
const MOST_ENDING_MS = 60_000

/** Waits until no other process writes the run's log. If one stays, the head that is started next says so. */
async function freeOfWriter(folder: string, signal: AbortSignal): Promise<void> {
  const until = performance.now() + MOST_ENDING_MS
  while (!signal.aborted && performance.now() < until) {
    const release = takeFileLock(join(folder, 'writer.lock'))
    if (release !== null) {
      release()
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** Config variables are in the config already, and must not change a run that is gone on with elsewhere. */
function withoutConfig(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const taken = new Set(configKeys().map(({ path }) => variableOf(path)))
  return Object.fromEntries(Object.entries(env).filter(([name]) => !taken.has(name)))
}
