/**
 * Runs every test file in a process of its own (a tensor backend, a broker or a hang in one file cannot touch another),
 * one more at a time than there are cores (a third of the time goes in waiting), each with a deadline, and adds up uvu's totals.
 *
 * npm test [-- PATTERN...]   only the files whose path holds one of the patterns
 *
 * With RL_TEST_AGAIN=N up to N files that failed run once more, alone, after all others: one that passes then is told and
 * counted as flaky. Where more failed, nothing is run again: that is no race of a busy machine.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve as pathOf } from 'node:path'

const DEADLINE_MS = Number(process.env.RL_TEST_DEADLINE_MS ?? 600_000)
/** What a file left open keeps it no longer than this after its last test. */
const ENDING_MS = 15_000
const AGAIN = Number(process.env.RL_TEST_AGAIN ?? 0)

type FileResult = {
  readonly file: string
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

function testFiles(patterns: readonly string[]): string[] {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${file}`)
    .filter((file) => patterns.length === 0 || patterns.some((pattern) => file.includes(pattern)))
    .sort()
}

const running = new Set<ChildProcess>()

/** Ends a test file's process and all that it started and left. */
function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // Nothing of it is left.
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    for (const child of running) endGroup(child)
    process.exit(130)
  })

function runFile(file: string): Promise<FileResult> {
  return new Promise((resolve) => {
    const started = performance.now()
    const child = spawn(process.execPath, [file], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, FORCE_COLOR: '0', NODE_COMPILE_CACHE: pathOf('.cache/compiled') },
      // A group of its own: what a file leaves running ends with it.
      detached: true,
    })
    running.add(child)
    let output = ''
    let over = false
    const collect = (chunk: Buffer) => {
      output += chunk.toString()
      if (over || !/^ +Duration: /m.test(output)) return
      over = true
      clearTimeout(deadline)
      deadline = setTimeout(force, ENDING_MS)
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    let late = false
    const force = () => {
      late = true
      endGroup(child)
    }
    let deadline = setTimeout(force, DEADLINE_MS)
    child.on('exit', () => endGroup(child))
    child.on('close', (status) => {
      clearTimeout(deadline)
      running.delete(child)
      const total = count(output, 'Total')
      const passed = count(output, 'Passed')
      const skipped = count(output, 'Skipped')
      const skipLines = output.split('\n').filter((line) => line.startsWith('SKIP'))
      // A file that says why it has nothing to do here is no failure; one that says nothing is.
      const broken = status === 0 && (total > 0 || skipLines.length > 0) ? 0 : 1
      const failed = Math.max(total - passed - skipped, broken)
      const seconds = ((performance.now() - started) / 1000).toFixed(1)
      const verdict = failed > 0 ? 'FAIL' : 'ok  '
      process.stdout.write(
        `${verdict} ${file}  ${passed} passed${skipped ? `, ${skipped} skipped` : ''}  ${seconds} s\n`,
      )
      for (const line of skipLines) process.stdout.write(`     ${line}\n`)
      if (late)
        process.stdout.write(
          `     ended by force after ${seconds} s: a test ${over ? 'left something open' : 'hangs'}\n`,
        )
      if (failed > 0) process.stdout.write(`${output.replace(/^/gm, '     ')}\n`)
      resolve({ file, passed, failed, skipped })
    })
  })
}

/** A total that uvu prints at the end of a file, e.g. `  Passed:    12`. */
function count(output: string, label: string): number {
  const found = [...output.matchAll(new RegExp(`^ +${label}: +(\\d+)`, 'gm'))].at(-1)
  return found ? Number(found[1]) : 0
}

const queue = testFiles(process.argv.slice(2))
const results: FileResult[] = []
async function runQueue(): Promise<void> {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) results.push(await runFile(file))
}
await Promise.all(Array.from({ length: availableParallelism() + 1 }, runQueue))

const flaky: string[] = []
const lost = results.filter((result) => result.failed > 0)
if (lost.length > 0 && lost.length <= AGAIN) {
  process.stdout.write('\nonce more, alone:\n')
  for (const first of lost) {
    const second = await runFile(first.file)
    if (second.failed > 0) continue
    flaky.push(first.file)
    results[results.indexOf(first)] = second
  }
}

const sum = (field: 'passed' | 'failed' | 'skipped') =>
  results.reduce((total, result) => total + result[field], 0)
const failedFiles = results.filter((result) => result.failed > 0).map((result) => result.file)
if (flaky.length > 0) process.stdout.write(`\nflaky (failed, then passed alone): ${flaky.join(' ')}\n`)
if (failedFiles.length > 0) process.stdout.write(`\nfailed: ${failedFiles.join(' ')}\n`)
process.stdout.write(
  `\n${sum('passed')} passed, ${sum('failed')} failed${sum('skipped') ? `, ${sum('skipped')} skipped` : ''}\n`,
)
process.exitCode = failedFiles.length > 0 || results.length === 0 ? 1 : 0
