/** Calls a user's function in a process of its own, with a deadline. A process that hangs or ends is replaced. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { RlError } from '../errors.ts'
import { nodeWords } from '../package.ts'
import type { Called, Said } from './worker-main.ts'

export type CallResult =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'fault'; readonly error: string }

export type UserWorker = {
  /** @param other another export to call, if the module has it; without it the value is null */
  readonly call: (args: readonly unknown[], ms: number, other?: string) => Promise<CallResult>
  /** Loads the module, if there is one. Errors: RlError `agents.module`. */
  readonly load?: () => Promise<void>
  readonly close: () => void
}

const MAIN = nodeWords(new URL('./worker-main.ts', import.meta.url))
/** Time in which a module must be loaded. */
const LOAD_MS = 120_000
/** Output of one call that is read. The rest is dropped, and more than this of a call ends the process. */
const MOST_OUTPUT = 10_000_000

/**
 * @param file the user's module
 * @param name what it exports, `agent` or `grade`
 * @param onOutput hears what it prints
 */
export function openUserWorker(
  file: string,
  name: string,
  onOutput: (text: string) => void,
  env: NodeJS.ProcessEnv = process.env,
): UserWorker {
  let child: ChildProcess | null = null
  let loading: Promise<ChildProcess> | null = null
  let output = 0
  let closed = false

  function load(): Promise<ChildProcess> {
    const started = spawn(process.execPath, [...MAIN, file, name], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env,
      // Children that it starts and leaves are ended with its group.
      detached: process.platform !== 'win32',
    })
    for (const stream of [started.stdout, started.stderr])
      stream?.setEncoding('utf8').on('data', (part: string) => {
        output += Buffer.byteLength(part)
        if (output > MOST_OUTPUT) endGroup(started)
        else onOutput(part)
      })
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        endGroup(started)
        reject(broken(`it was not loaded within ${LOAD_MS / 1000} s`))
      }, LOAD_MS)
      const settle = () => clearTimeout(late)
      started.once('message', (said: Said) => {
        settle()
        if (said.kind === 'ready') return resolve(started)
        endGroup(started)
        reject(broken(said.kind === 'broken' ? said.error : 'it said nothing that is known'))
      })
      started.once('exit', (status, signal) => {
        settle()
        if (child === started) child = null
        endGroup(started)
        reject(broken(`its process ended with ${signal ?? `status ${status}`}`))
      })
      started.once('error', (error) => {
        settle()
        reject(broken(error.message))
      })
    })
  }

  function broken(why: string): RlError {
    return new RlError(`${file}: ${why}`, {
      code: 'agents.module',
      hint: `it must export a function '${name}': docs/agents.md`,
    })
  }

  async function ready(): Promise<ChildProcess> {
    if (child) return child
    loading ??= load().finally(() => {
      loading = null
    })
    child = await loading
    return child
  }

  return {
    async load() {
      await ready()
    },
    async call(args, ms, other) {
      const own = await ready()
      const id = randomUUID()
      output = 0
      return new Promise((resolve) => {
        const settle = (result: CallResult) => {
          clearTimeout(late)
          own.off('message', hear)
          own.off('exit', gone)
          resolve(result)
        }
        const hear = (said: Said) => {
          if ((said.kind !== 'result' && said.kind !== 'threw') || said.id !== id) return
          settle(
            said.kind === 'result'
              ? { kind: 'value', value: said.value }
              : { kind: 'fault', error: said.error },
          )
        }
        const gone = (status: number | null, signal: string | null) =>
          settle({
            kind: 'fault',
            error:
              output > MOST_OUTPUT
                ? `it printed more than ${MOST_OUTPUT / 1e6} MB and was ended`
                : `its process ended with ${signal ?? `status ${status}`}`,
          })
        const late = setTimeout(() => {
          if (child === own) child = null
          endGroup(own)
          settle({ kind: 'fault', error: `it gave no result within ${ms / 1000} s and was ended` })
        }, ms)
        own.on('message', hear)
        own.once('exit', gone)
        own.send({ id, args, other } satisfies Called, (error) => {
          if (error) settle({ kind: 'fault', error: error.message })
        })
      })
    },
    close() {
      closed = true
      if (child) endGroup(child)
      void loading?.then((own) => closed && endGroup(own)).catch(() => {})
    },
  }
}

/** Ends a process and those that it started. */
export function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}
