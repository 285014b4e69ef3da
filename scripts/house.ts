/**
 * `npm run -s house`: measures what keeps the project a house that a stranger can move into. Each figure has a goal. The last line is
 * `packages=N core_lines=N keys=N unset=N casts=N median_words=N p90_words=N over30_percent=N dead_exports=N back_arrows=N test_s=N
 * cases=N`. Ends with status 1 if a goal is missed.
 *
 *   --no-tests   leaves out the run of `npm test`, so test_s is not measured
 */
import { spawnSync } from 'node:child_process'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import '../src/setting-packages.ts'
import { configKeys } from '../src/config/keys.ts'
import { loadInstalled } from '../src/environments/settings.ts'
import { CIRCLES } from '../test/layers-table.ts'
import { documentedPages, measureProse, sentencesOf } from './docs/prose.ts'

type Figure = {
  readonly name: string
  /** Null if it was not measured. */
  readonly value: number | null
  readonly goal: string
  readonly isMet: (value: number) => boolean
  readonly what: string
}

const atMost = (limit: number) => ({ goal: `<= ${limit}`, isMet: (value: number) => value <= limit })
const atLeast = (limit: number) => ({ goal: `>= ${limit}`, isMet: (value: number) => value >= limit })

const { values: flags } = parseArgs({ options: { 'no-tests': { type: 'boolean', default: false } } })
await loadInstalled()

function linesOf(folder: string): number {
  return sourcesOf(folder).reduce(
    (total, file) => total + readFileSync(file, 'utf8').split('\n').length - 1,
    0,
  )
}

function sourcesOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|js|mjs|cjs|py)$/.test(file))
    .map((file) => join(folder, file))
}

/** Keys that a user sees: sections and what stands under `expert` are left out. */
function keys(): readonly (readonly string[])[] {
  return configKeys()
    .filter(({ path, values }) => values !== null && !path.includes('expert'))
    .map(({ path }) => path)
}

/** Files that set keys: shipped configs, examples, tests and the settings of the ablation. */
const SETTING = ['config/**/*.yaml', 'examples/**/*.{ts,yaml,md}', 'data/project/*', 'src/ablation/*.ts']
const TESTING = ['test/**/*.ts', 'packages/*/test/**/*.ts', 'scripts/*.ts']

/** Keys whose last word is set nowhere, by `word:` or `word=`. */
function unsetKeys(): readonly string[] {
  const text = [...SETTING, ...TESTING]
    .flatMap((pattern) => globSync(pattern, { exclude: (name) => name === 'node_modules' }))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
  return keys()
    .filter((path) => !new RegExp(`\\b${path.at(-1)}['"]?[=:]`).test(text))
    .map((path) => path.join('.'))
}

/** Casts of the inputs of jobs. The kind of a job should say the type of its input. */
const CAST = /\b(?:job\.)?input as (?:Judge\w*|Train|ColdStart|LoadTasks|RewriteTask|Request|EventData|\{)/g

function casts(): number {
  const all = ['src', ...readdirSync('packages').map((name) => join('packages', name, 'src'))].flatMap(
    sourcesOf,
  )
  return all.reduce((total, file) => total + (readFileSync(file, 'utf8').match(CAST)?.length ?? 0), 0)
}

function deadExports(): number {
  const { stdout } = spawnSync(process.execPath, ['node_modules/knip/bin/knip.js', '--reporter', 'json'], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  })
  const { issues } = JSON.parse(stdout) as { issues: readonly Readonly<Record<string, unknown>>[] }
  return issues.flatMap((one) => [one.exports, one.types, one.files].flat().filter(Boolean)).length
}

/** Seconds of `npm test`. Null if it was left out, and NaN if it failed: its failures are told then. */
function testSeconds(): number | null {
  if (flags['no-tests']) return null
  const started = performance.now()
  const words = ['bin/launch.mjs', 'scripts/test.ts']
  const { status, stdout } = spawnSync(process.execPath, words, { encoding: 'utf8', maxBuffer: 64_000_000 })
  if (status === 0) return Math.round((performance.now() - started) / 1000)
  const failed = stdout.indexOf('FAIL ')
  process.stdout.write(`npm test failed: ${stdout.slice(Math.max(0, failed)).slice(0, 4_000)}\n`)
  return Number.NaN
}

const measured = JSON.parse(readFileSync('test/costs.json', 'utf8')) as Record<string, { cases: number }>
const prose = measureProse(documentedPages().flatMap((file) => sentencesOf(file, readFileSync(file, 'utf8'))))
const unset = unsetKeys()

const figures: readonly Figure[] = [
  {
    name: 'packages',
    value: 1 + readdirSync('packages').length,
    ...atLeast(5),
    what: 'workspaces, with the root',
  },
  {
    name: 'core_lines',
    value: linesOf('src') - linesOf('src/ui'),
    ...atMost(71_000),
    what: 'lines of src without the pages; the limit may only fall',
  },
  { name: 'keys', value: keys().length, ...atMost(160), what: 'keys of the config outside expert' },
  { name: 'unset', value: unset.length, ...atMost(0), what: 'keys that nothing shipped or tested sets' },
  { name: 'casts', value: casts(), ...atMost(0), what: 'casts of the inputs of jobs' },
  { name: 'median_words', value: prose.median, ...atMost(12), what: 'words a sentence in README and docs' },
  { name: 'p90_words', value: prose.p90, ...atMost(25), what: 'the same, 90th percentile' },
  {
    name: 'over30_percent',
    value: Number(prose.over30.toFixed(1)),
    ...atMost(3),
    what: 'sentences above 30 words',
  },
  { name: 'dead_exports', value: deadExports(), ...atMost(0), what: 'exports that nothing imports' },
  {
    name: 'back_arrows',
    value: Object.keys(CIRCLES).length,
    ...atMost(0),
    what: 'circles of folders in the table of layers',
  },
  { name: 'test_s', value: testSeconds(), ...atMost(360), what: 'seconds of npm test' },
  {
    name: 'cases',
    value: Object.values(measured).reduce((total, { cases }) => total + cases, 0),
    ...atLeast(1900),
    what: 'cases of npm run test:all',
  },
]

for (const { name, value, goal, isMet, what } of figures)
  process.stdout.write(
    `${value === null || isMet(value) ? 'ok  ' : 'MISS'} ${name.padEnd(15)} ${String(value ?? '-').padStart(6)}  goal ${goal.padEnd(9)} ${what}\n`,
  )
if (unset.length > 0) process.stdout.write(`unset: ${unset.join(', ')}\n`)
process.stdout.write(`${figures.map(({ name, value }) => `${name}=${value ?? '-'}`).join(' ')}\n`)
process.exitCode = figures.every(({ value, isMet }) => value === null || isMet(value)) ? 0 : 1
