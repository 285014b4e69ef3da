/** An agent in any language: a command that is started for each rollout, and whose last line is its result. */
import { spawn } from 'node:child_process'
import { endGroup, type UserWorker } from './worker.ts'

/** Characters of a task in a variable. Linux refuses variables of 128 kB. */
const MOST_TASK = 100_000
const MOST_OUTPUT = 10_000_000

type Given = {
  readonly baseURL: string
  readonly apiKey: string
  readonly model: string
  readonly rolloutURL: string
}

/**
 * @param command for the shell, e.g. `python agent.py`
 * @param onOutput hears what it prints to standard error
 */
export function openCommandAgent(
  command: string,
  onOutput: (text: string) => void,
  env: NodeJS.ProcessEnv = process.env,
): UserWorker {
  const running = new Set<ReturnType<typeof spawn>>()
  return {
    call: ([task, given], ms) =>
      new Promise((resolve) => {
        const { baseURL, apiKey, model, rolloutURL } = given as Given
        const text = JSON.stringify(task)
        const fault = (error: string) => resolve({ kind: 'fault', error })
        if (text.length > MOST_TASK)
          return fault(`the task has ${text.length} characters, and RL_TASK holds ${MOST_TASK}`)
        const child = spawn(command, {
          shell: true,
          stdio: ['ignore', 'pipe', 'pipe'],
          // Children that it starts and leaves are ended with its group.
          detached: process.platform !== 'win32',
          env: {
            ...env,
            OPENAI_BASE_URL: baseURL,
            OPENAI_API_KEY: apiKey,
            OPENAI_MODEL: model,
            // Anthropic's clients add the version themselves.
            ANTHROPIC_BASE_URL: baseURL.replace(/\/v1$/, ''),
            ANTHROPIC_API_KEY: apiKey,
            RL_ROLLOUT_URL: rolloutURL,
            RL_TASK: text,
          },
        })
        running.add(child)
        let [output, errors, bytes] = ['', '', 0]
        let why: string | null = null
        const stop = (reason: string) => {
          why ??= reason
          endGroup(child)
        }
        const late = setTimeout(() => stop(`it gave no result within ${ms / 1000} s and was ended`), ms)
        const count = (part: string) => {
          bytes += Buffer.byteLength(part)
          if (bytes > MOST_OUTPUT) stop(`it printed more than ${MOST_OUTPUT / 1e6} MB and was ended`)
        }
        child.stdout.setEncoding('utf8').on('data', (part: string) => {
          count(part)
          if (bytes <= MOST_OUTPUT) output += part
        })
        child.stderr.setEncoding('utf8').on('data', (part: string) => {
          count(part)
          errors = `${errors}${part}`.slice(-4_096)
          if (bytes <= MOST_OUTPUT) onOutput(part)
        })
        child.once('error', (error) => {
          clearTimeout(late)
          running.delete(child)
          fault(error.message)
        })
        // What it started and left may hold its output open: its own end counts.
        child.once('exit', (status, signal) => {
          clearTimeout(late)
          running.delete(child)
          endGroup(child)
          setImmediate(() => {
            if (why !== null) fault(why)
            else if (status !== 0)
              fault(`it ended with ${signal ?? `status ${status}`}: ${lastLine(errors).slice(0, 1_000)}`)
            else resolve({ kind: 'value', value: resultOf(lastLine(output)) })
          })
        })
      }),
    close() {
      for (const child of running) endGroup(child)
    },
  }
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1)?.trim() ?? ''
}

/** A line of JSON is what it says. Any other line is a text. */
function resultOf(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return line
  }
}
