/**
 * Runs every test file in a process of its own, so that a tensor backend, a broker or a hang in one file cannot touch another.
 *
 *   npm test                        the files of each part that take seconds, and one of each kind that takes longer
 *   npm run test:all                all files
 *   npm test -- PATTERN...          all files whose path holds one of the patterns
 *   npm run test:all -- --costs     all files; then writes the seconds and cases of each into test/costs.json
 *
 * The costliest files start first. One more file runs than there are cores, because tests wait for a third of their time.
 * With RL_TEST_AGAIN=N, up to N failed files run once more, alone. A file that passes then is counted as flaky. If more failed,
 * none is run again: a busy machine explains few failures, not many.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { parse } from 'uvu/parse'
import { nearest } from '../src/nearest.ts'
import { endAll, type FileResult, runFile } from './test/run-file.ts'

const COSTS = 'test/costs.json'
/** Seconds that a file of the short run took at most when all files were measured. */
const SHORT_S = 10
/**
 * Files of the short run that take longer: a loop from end to end, a page in a browser, a program in a
 * sandbox, a minute of hostile inputs.
 */
const LONGER = [
  'test/loop.test.ts',
  'packages/environment-web/test/screen.test.ts',
  'packages/environment-coding/test/executor.test.ts',
  'test/fuzz/fuzz.test.ts',
]
const AGAIN = Number(process.env.RL_TEST_AGAIN ?? 0)

const { values: options, positionals: patterns } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false }, costs: { type: 'boolean', default: false } },
})

// The number of drawn configs that test/config/drawn.test.ts tries.
if (options.all) process.env.RL_TEST_DRAWN ??= '2000'

/** Seconds and number of cases of each file that was measured. */
const measured: Readonly<Record<string, { readonly seconds: number; readonly cases: number }>> = existsSync(
  COSTS,
)
  ? JSON.parse(readFileSync(COSTS, 'utf8'))
  : {}
const costOf = (file: string) => measured[file]?.seconds ?? 0

async function allFiles(): Promise<string[]> {
  const packages = existsSync('packages') ? readdirSync('packages') : []
  const folders = ['test', ...packages.map((name) => join('packages', name, 'test')).filter(existsSync)]
  const found = await Promise.all(
    folders.map(async (folder) =>
      (await parse(folder, /\.test\.ts$/)).suites.map(({ name }) => join(folder, name)),
    ),
  )
  return found.flat()
}

function isWanted(file: string): boolean {
  if (patterns.length > 0) return patterns.some((pattern) => file.includes(pattern))
  return options.all || costOf(file) <= SHORT_S || LONGER.includes(file)
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    endAll()
    process.exit(130)
  })

const files = await allFiles()
const unmatched = patterns.filter((pattern) => !files.some((file) => file.includes(pattern)))
for (const pattern of unmatched) {
  const likely = nearest(
    pattern,
    files.flatMap((file) => [file, basename(file), basename(file, '.test.ts')]),
  )
  process.stderr.write(
    `no path of a test file holds '${pattern}'${likely === null ? '' : ` - did you mean '${likely}'?`}\n`,
  )
}
const queue = files.filter(isWanted).sort((a, b) => costOf(b) - costOf(a))
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

if (options.costs) {
  const lines = results
    .map(({ file, seconds, passed, failed, skipped }) => {
      const one = { seconds: Math.round(seconds * 10) / 10, cases: passed + failed + skipped }
      return `  ${JSON.stringify(file)}: ${JSON.stringify(one)}`
    })
    .sort()
  writeFileSync(COSTS, `{\n${lines.join(',\n')}\n}\n`)
}

const sum = (field: 'passed' | 'failed' | 'skipped') =>
  results.reduce((total, result) => total + result[field], 0)
const failedFiles = results.filter((result) => result.failed > 0).map((result) => result.file)
if (flaky.length > 0) process.stdout.write(`\nflaky (failed, then passed alone): ${flaky.join(' ')}\n`)
if (failedFiles.length > 0) process.stdout.write(`\nfailed: ${failedFiles.join(' ')}\n`)
process.stdout.write(
  `\n${sum('passed')} passed, ${sum('failed')} failed${sum('skipped') ? `, ${sum('skipped')} skipped` : ''}\n`,
)
process.exitCode = failedFiles.length > 0 || unmatched.length > 0 || results.length === 0 ? 1 : 0
