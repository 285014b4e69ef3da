/**
 * A program that answers each line of JSON with one line of JSON. It may be hostile: a line is bounded before it
 * is parsed, and a program that breaks the rule is ended.
 */
import { isRecord } from '../../is-record.ts'
import { lastWords, spawnGuardedChild } from '../../platform/guarded-child.ts'
import { plainEnvironment } from '../../platform/processes.ts'
import { boundedLines } from './bounded-lines.ts'
import { broken, infra } from './fault.ts'

/** Longest line that is parsed, in bytes. */
const MOST_BYTES = 8 * 1024 * 1024

export type Fields = Readonly<Record<string, unknown>>

export type LineProcess = {
  /** Asks one question at a time. Any fault ends the program. */
  readonly ask: (question: Fields, timeoutMs: number) => Promise<Fields>
  /** Why it is gone, or null. */
  readonly fault: () => Error | null
  readonly end: () => Promise<void>
}

type Waiting = { readonly resolve: (answer: Fields) => void; readonly reject: (error: Error) => void }

export function startLineProcess(command: readonly string[]): LineProcess {
  const child = spawnGuardedChild(command, { env: plainEnvironment() })
  const name = command.join(' ').slice(0, 200)
  let waiting: Waiting | null = null
  let gone: Error | null = null
  const words = lastWords(child.stderr)
  const lines = boundedLines(MOST_BYTES, {
    line: take,
    tooLong: () => fail(broken(`${name} answers with more than ${MOST_BYTES} bytes`)),
  })

  function fail(error: Error): void {
    gone ??= error
    waiting?.reject(gone)
    waiting = null
    lines.stop()
    void child.end()
  }

  child.stdout.on('data', lines.take)

  function take(line: Buffer): void {
    if (!waiting) fail(broken(`${name} says something that nobody asked for`))
    else {
      const answer = objectIn(line)
      const { resolve } = waiting
      if (answer) {
        waiting = null
        resolve(answer)
      } else fail(broken(`${name} answers with no JSON object`))
    }
  }

  void child.ended.then((why) => fail(infra(`${name}: ${why}${words() === '' ? '' : `: ${words()}`}`)))

  return {
    ask: (question, timeoutMs) =>
      new Promise((resolve, reject) => {
        if (gone) return reject(gone)
        const timer = setTimeout(
          () => fail(infra(`${name}: no answer within ${timeoutMs / 1000} s`)),
          timeoutMs,
        )
        waiting = {
          resolve: (answer) => {
            clearTimeout(timer)
            resolve(answer)
          },
          reject: (error) => {
            clearTimeout(timer)
            reject(error)
          },
        }
        child.stdin.write(`${JSON.stringify(question)}\n`)
      }),
    fault: () => gone,
    async end() {
      fail(infra(`${name} was ended`))
      await child.end()
    },
  }
}

function objectIn(line: Buffer): Fields | null {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'))
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}
