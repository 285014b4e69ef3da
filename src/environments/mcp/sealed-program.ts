/** A checker's program. It reads what a model answered and may run it, so it runs in a sandbox. */
import { createControlGroup } from '../../platform/control-group.ts'
import { lastWords, spawnSealedChild } from '../../platform/guarded-child.ts'
import { plainEnvironment } from '../../platform/processes.ts'
import { broken, infra } from '../sessions/fault.ts'

const MOST_BYTES = 1024 * 1024
const LIMITS = { memoryMB: 4_096, processes: 512 }

let programs = 0

/**
 * Resolves to what the program writes on its standard output.
 *
 * @param input is given on its standard input
 * @throws RlError `program.sandbox` without a sandbox, `environment.answer` if it fails or writes more than 1 MiB,
 *   `rollout.infra` if it is not done in time
 * @example await runSealed(['python3', 'check.py'], '{"answer": "5"}', 10_000) // '1\n'
 */
export async function runSealed(
  command: readonly string[],
  input: string,
  timeoutMs: number,
): Promise<string> {
  const name = `the checker's program ${command.join(' ').slice(0, 200)}`
  const child = spawnSealedChild(command, { env: plainEnvironment(), cwd: process.cwd() })
  const group = createControlGroup('checker', programs++)
  const parts: Buffer[] = []
  let size = 0
  const words = lastWords(child.stderr)
  let fault: Error | null = null
  const stop = (error: Error) => {
    fault ??= error
    void child.end()
  }
  const timer = setTimeout(() => stop(infra(`${name}: not done within ${timeoutMs / 1000} s`)), timeoutMs)
  child.stdout.on('data', (part: Buffer) => {
    size += part.length
    if (size > MOST_BYTES) stop(broken(`${name} writes more than ${MOST_BYTES} bytes`))
    else parts.push(part)
  })
  try {
    if (child.pid !== undefined) group?.enter(child.pid, LIMITS)
    child.stdin.end(input)
    const why = await child.closed
    if (fault) throw fault
    if (why !== 'it ended with status 0') throw broken(`${name}: ${why}: ${words()}`)
    return Buffer.concat(parts).toString('utf8')
  } finally {
    clearTimeout(timer)
    await child.end()
    await group?.remove()
  }
}
