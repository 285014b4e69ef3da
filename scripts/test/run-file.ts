/** Runs a test file in a process group of its own, with a deadline. */
import { type ChildProcess, fork } from 'node:child_process'
import { resolve as pathOf } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Totals } from './file.ts'

const DEADLINE_MS = Number(process.env.RL_TEST_DEADLINE_MS ?? 600_000)
/** A file may keep something open for this long after its last test. */
const ENDING_MS = 15_000
const PROGRAM = fileURLToPath(new URL('file.ts', import.meta.url))

export type FileResult = Totals & { readonly file: string; readonly seconds: number }

const running = new Set<ChildProcess>()

/** Ends all test files that run, and all that they started. */
export function endAll(): void {
  for (const child of running) endGroup(child)
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // Nothing of the group is left.
  }
}

/** Runs a file and prints one line for it: with its SKIP lines, and with its output if it failed. Never rejects. */
export async function runFile(file: string): Promise<FileResult> {
  const started = performance.now()
  const { status, totals, output, late } = await runChild(file)
  const seconds = (performance.now() - started) / 1000
  const { passed, skipped } = totals ?? { passed: 0, skipped: 0 }
  const skips = output.split('\n').filter((line) => line.startsWith('SKIP'))
  // If a file says why it has nothing to do here, it has not failed. If it says nothing, it has failed.
  const isWhole = status === 0 && totals !== null && (passed + totals.failed > 0 || skips.length > 0)
  const failed = Math.max(totals?.failed ?? 0, isWhole ? 0 : 1)
  const lines = [
    `${failed > 0 ? 'FAIL' : 'ok  '} ${file}  ${passed} passed${skipped ? `, ${skipped} skipped` : ''}  ${seconds.toFixed(1)} s`,
    ...skips.map((line) => `     ${line}`),
  ]
  if (late)
    lines.push(
      `     ended by force after ${seconds.toFixed(1)} s: a test ${totals ? 'left something open' : 'hangs'}`,
    )
  if (failed > 0) lines.push(output.replace(/^/gm, '     '))
  process.stdout.write(`${lines.join('\n')}\n`)
  return { file, seconds, passed, failed, skipped }
}

type Ended = {
  readonly status: number | null
  /** Null if the file sent none: it threw, or it was ended. */
  readonly totals: Totals | null
  readonly output: string
  /** Whether it was ended by force. */
  readonly late: boolean
}

function runChild(file: string): Promise<Ended> {
  return new Promise((resolve) => {
    const child = fork(PROGRAM, [file], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, FORCE_COLOR: '0', NODE_COMPILE_CACHE: pathOf('.cache/compiled') },
      // A process group of its own: what a file leaves running ends with it.
      detached: true,
    })
    running.add(child)
    let [output, late] = ['', false]
    let totals: Totals | null = null
    const force = () => {
      late = true
      endGroup(child)
    }
    let deadline = setTimeout(force, DEADLINE_MS)
    child.once('message', (message) => {
      totals = message as Totals
      clearTimeout(deadline)
      deadline = setTimeout(force, ENDING_MS)
    })
    const collect = (chunk: Buffer) => {
      output += chunk.toString()
    }
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
    child.on('exit', () => endGroup(child))
    child.on('close', (status) => {
      clearTimeout(deadline)
      running.delete(child)
      resolve({ status, totals, output, late })
    })
  })
}
