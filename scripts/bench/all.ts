/**
 * `npm run -s bench -- all [--check] [--only SUITE,...]` runs the suites one after another, each in a process of its own. Their
 * lines stand on standard output as they come. The last line is `rows=N missed=NAMES skipped=NAMES load=BEFORE..AFTER cpu=MODEL`. A
 * row misses if it has a goal and does not hold it, and a suite if it ends with an error. With `--check` a miss is exit status 1.
 * A row of `PROMISED` that no suite printed is told by a line SKIP: this machine lacks what it needs.
 */
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { holds } from './report.ts'

const rowSchema = z.object({
  suite: z.string(),
  name: z.string(),
  value: z.number(),
  goal: z.string().nullable(),
})

/** Rows with a goal whose suites leave them out if a part is missing, by suite. */
const PROMISED: Readonly<Record<string, readonly string[]>> = {
  replay: ['replay_per_s'],
  events: ['loop_delay_p99_ms', 'restart_1m_s', 'append_200b_per_s', 'append_4kb_per_s', 'latency_p99_ms'],
  loop: ['orchestration_share', 'rss_total_mb'],
  model: [
    ...['sample_vs_torch', 'forward_vs_torch', 'train_vs_torch'],
    ...['qwen05_decode_vs_torch', 'qwen05_prefill_vs_torch', 'qwen05_lora_vs_torch'],
    ...['plain_wasm_sample_vs_torch', 'plain_wasm_forward_vs_torch', 'plain_wasm_train_vs_torch'],
    ...['plain_wasm_smollm2_decode_vs_torch', 'plain_wasm_smollm2_prefill_vs_torch'],
    'plain_wasm_smollm2_lora_vs_torch',
    ...['odd_sample_vs_torch', 'odd_forward_vs_torch', 'odd_train_vs_torch', 'qwen05_decode_vs_llamacpp'],
  ],
  engine: ['steps_per_s'],
  gui: ['reset_p50_ms', 'step_p50_ms', 'episodes_per_s', 'png_steps_per_s', 'step_vs_playwright'],
  coding: ['tests_per_s_8', 'tests_per_s_32'],
  gateway: ['overhead_p50_ms', 'lost_16000', 'rss_16000_mb'],
  newcomer: ['default_run_min'],
}

const OTHERS = new Set(['all.ts', 'report.ts'])
const known = readdirSync('scripts/bench')
  .filter((file) => file.endsWith('.ts') && !OTHERS.has(file))
  .map((file) => file.slice(0, -3))
/** No suite takes so long. One that does is ended, and missed. */
const SUITE_MS = 3 * 3_600_000
const { check, wanted } = flags()

/** Reads the flags. Ends the process with status 2 if they ask for what there is not. */
function flags(): { readonly check: boolean; readonly wanted: readonly string[] } {
  try {
    const { values } = parseArgs({
      args: process.argv.slice(3),
      options: { check: { type: 'boolean', default: false }, only: { type: 'string' } },
    })
    const names = values.only?.split(',').map((name) => name.trim())
    const stranger = names?.find((name) => !known.includes(name))
    if (stranger !== undefined)
      throw new Error(`there is no suite '${stranger}': they are ${known.join(', ')}`)
    return { check: values.check, wanted: [...new Set(names ?? known)] }
  } catch (error) {
    const why = error instanceof Error ? error.message : error
    process.stderr.write(`${why}\nusage: npm run -s bench -- all [--check] [--only SUITE,...]\n`)
    process.exit(2)
  }
}

const load = () => (loadavg()[0] ?? 0).toFixed(1)
const before = load()
const missed = new Set<string>()
/** Suites that ended with an error: what they did not print was not skipped. */
const broken = new Set<string>()
const printed = new Set<string>()
let rows = 0
for (const [index, suite] of wanted.entries()) {
  const started = performance.now()
  process.stderr.write(`bench: ${suite} (${index + 1} of ${wanted.length}), load ${load()}\n`)
  const status = await run(suite)
  if (status !== 0) {
    missed.add(`${suite}:ended-with-${status}`)
    broken.add(suite)
  }
  process.stderr.write(`bench: ${suite} took ${((performance.now() - started) / 1000).toFixed(0)} s\n`)
}
const skipped = wanted
  .filter((suite) => !broken.has(suite))
  .flatMap((suite) => (PROMISED[suite] ?? []).map((name) => `${suite}:${name}`))
  .filter((name) => !printed.has(name))
for (const name of skipped) process.stdout.write(`SKIP ${name}\n`)
const model = (cpus()[0]?.model ?? 'unknown').trim().replaceAll(/\s+/g, '_')
process.stdout.write(
  `rows=${rows} missed=${[...missed].join(',') || 'none'} skipped=${skipped.join(',') || 'none'} load=${before}..${load()} cpu=${cpus().length}x${model}\n`,
)
process.exitCode = check && missed.size > 0 ? 1 : 0

async function run(suite: string): Promise<number | string> {
  const child = spawn(process.execPath, [...process.execArgv, 'bin/launch.mjs', 'scripts/bench.ts', suite], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const over = new Promise<number | string>((resolve) =>
    child.once('close', (status, signal) => resolve(status ?? signal ?? 'unknown')),
  )
  const limit = setTimeout(() => child.kill('SIGKILL'), SUITE_MS)
  for await (const line of createInterface({ input: child.stdout })) {
    process.stdout.write(`${line}\n`)
    const row = rowOf(line)
    if (row === null) continue
    rows++
    printed.add(`${row.suite}:${row.name}`)
    if (row.goal !== null && !holds(row.value, row.goal)) missed.add(`${row.suite}:${row.name}`)
  }
  const status = await over
  clearTimeout(limit)
  return status
}

function rowOf(line: string): z.infer<typeof rowSchema> | null {
  if (!line.startsWith('{')) return null
  try {
    return rowSchema.parse(JSON.parse(line))
  } catch {
    return null
  }
}
