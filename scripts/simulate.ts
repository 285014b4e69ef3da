/** Deterministic simulation: `npm run -s simulate -- --help`. */

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { FAULT_KINDS, TIMED_KINDS } from '../test/simulation/faults.ts'
import { PLANTED, type Planted, plant } from '../test/simulation/planted/planted.ts'
import { search } from '../test/simulation/search.ts'
import { shrunk, simulate } from '../test/simulation/simulate.ts'
import type { Outcome } from '../test/simulation/world.ts'

const HELP = `npm run -s simulate -- [options] [NAME...]

Runs whole simulated-learner runs in one process and in virtual time: the real head, deciders, actors, queues and log over a
transport and clocks in memory, on which faults strike that follow from a seed. The same seed makes the same world.

  --seeds A..B     worlds of these seeds                          (1..200)
  --processes N    that make them                                 (2)
  --seed N         this one alone; a failing one is shrunk to the fewest faults that still make it fail
  --trace          with --seed: all that happens in it
  --only A,B       with --seed: these faults alone, by the names that a failing seed is told with
  --planted        puts bugs into a copy of the spine, one by one: tells the first seed of 1..1000, or the test, that finds each;
                   only those that are named, if any is
  --json           one JSON object a failing seed, and one at the end

The last line is seeds=N violations=V; with --planted it is planted=N found=F. Exit status 0 where no seed fails.

Faults: ${Object.entries({ ...FAULT_KINDS, ...TIMED_KINDS })
  .map(([name, what]) => `\n  ${name.padEnd(9)} ${what}`)
  .join('')}`

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Failing seeds that are shrunk and shown in full. */
const SHOWN = 3
const PLANTED_SEEDS = 1_000

const { values: flags, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '1..200' },
    seed: { type: 'string' },
    processes: { type: 'string', default: '2' },
    trace: { type: 'boolean', default: false },
    only: { type: 'string' },
    planted: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const interrupted = new AbortController()
process.once('SIGINT', () => {
  interrupted.abort()
  process.once('SIGINT', () => process.exit(130))
})

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function whole(text: string, flag: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= 0) return value
  process.stderr.write(
    `${flag} ${JSON.stringify(text)} is no whole number: see npm run -s simulate -- --help\n`,
  )
  process.exit(2)
}

function tell(outcome: Outcome): void {
  if (flags.json) print(JSON.stringify(outcome))
  else
    print(
      `seed ${outcome.seed}: ${outcome.violations.join('; ')}\n  replay: npm run -s simulate -- --seed ${outcome.seed}`,
    )
}

async function one(seed: number): Promise<number> {
  const only = flags.only === undefined ? undefined : new Set(flags.only.split(','))
  const trace = flags.trace ? print : undefined
  const outcome = await simulate(seed, { only, trace })
  const { violations, struck, events, virtualMs } = outcome
  if (violations.length > 0) {
    tell(outcome)
    if (only === undefined) await showShrunk(outcome)
  } else if (flags.json) print(JSON.stringify(outcome))
  else
    print(
      `seed ${seed}: ${events} events in ${(virtualMs / 1000).toFixed(1)} virtual seconds, ${struck.length} faults`,
    )
  print(`seeds=1 violations=${violations.length > 0 ? 1 : 0}`)
  return violations.length > 0 ? 1 : 0
}

async function showShrunk(outcome: Outcome): Promise<void> {
  const few = await shrunk(outcome)
  const again = `npm run -s simulate -- --seed ${outcome.seed} --trace --only '${few.join(',')}'`
  if (flags.json) return print(JSON.stringify({ seed: outcome.seed, shrunk: few }))
  print(`  ${few.length} of its ${outcome.struck.length} faults are enough: ${few.join(', ')}\n  ${again}`)
  await simulate(outcome.seed, { only: new Set(few), trace: (line) => print(`  ${line}`) })
}

async function many(text: string): Promise<number> {
  const [from, to] = text.split('..').map((part) => whole(part, '--seeds'))
  const failing: Outcome[] = []
  const began = performance.now()
  let done = 0
  let toldAt = began
  await search({
    from,
    to: to ?? from,
    processes: whole(flags.processes, '--processes'),
    root: ROOT,
    signal: interrupted.signal,
    onOutcome(outcome) {
      done++
      if (outcome.violations.length > 0) {
        failing.push(outcome)
        tell(outcome)
      }
      const now = performance.now()
      if (now - toldAt < 5_000) return
      toldAt = now
      const left = ((now - began) / done) * ((to ?? from) - from + 1 - done)
      process.stderr.write(`${done} seeds, ${failing.length} fail, ${Math.ceil(left / 1000)} s left\n`)
    },
  })
  for (const outcome of failing.slice(0, SHOWN)) if (!interrupted.signal.aborted) await showShrunk(outcome)
  const seconds = Math.round((performance.now() - began) / 1000)
  if (flags.json)
    print(
      JSON.stringify({
        seeds: done,
        violations: failing.length,
        failing: failing.map(({ seed }) => seed),
        seconds,
      }),
    )
  else print(`seeds=${done} violations=${failing.length}`)
  return interrupted.signal.aborted ? 130 : failing.length > 0 ? 1 : 0
}

/** Returns in words what found a planted bug, or null. */
async function whatFinds(bug: Planted): Promise<string | null> {
  const copy = plant(bug, ROOT)
  try {
    return await (bug.tests ? failingTest(copy.root, bug.tests) : failingSeed(copy.root))
  } finally {
    copy.remove()
  }
}

async function failingSeed(root: string): Promise<string | null> {
  const enough = new AbortController()
  const stop = () => enough.abort()
  interrupted.signal.addEventListener('abort', stop)
  let first: Outcome | undefined
  await search({
    from: 1,
    to: PLANTED_SEEDS,
    processes: whole(flags.processes, '--processes'),
    root,
    signal: enough.signal,
    onOutcome(outcome) {
      if (outcome.violations.length === 0) return
      if (!first || outcome.seed < first.seed) first = outcome
      stop()
    },
  })
  interrupted.signal.removeEventListener('abort', stop)
  return first ? `seed ${first.seed}: ${first.violations[0]}` : null
}

async function failingTest(cwd: string, tests: readonly string[]): Promise<string | null> {
  const words = ['bin/launch.mjs', 'scripts/test.ts', ...tests]
  const child = spawn(process.execPath, words, {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
    signal: interrupted.signal,
  })
  child.on('error', () => {})
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk
  })
  await new Promise((resolve) => child.once('close', resolve))
  const failed = /FAIL {2}"([^"]*)"/.exec(output)
  return failed ? `test ${tests.join(' ')}: ${failed[1]}` : null
}

async function planted(): Promise<number> {
  const unknown = names.find((name) => !PLANTED.some((bug) => bug.name === name))
  if (unknown !== undefined) {
    process.stderr.write(`there is no planted bug ${unknown}\n`)
    return 2
  }
  const bugs = PLANTED.filter(({ name }) => names.length === 0 || names.includes(name))
  let found = 0
  for (const bug of bugs) {
    if (interrupted.signal.aborted) break
    const by = await whatFinds(bug)
    if (by !== null) found++
    if (flags.json) print(JSON.stringify({ planted: bug.name, found: by }))
    else print(`${bug.name}: ${by ?? 'nothing finds it'}`)
  }
  print(`planted=${bugs.length} found=${found}`)
  return interrupted.signal.aborted ? 130 : found === bugs.length ? 0 : 1
}

if (flags.help) print(HELP)
else if (flags.planted) process.exitCode = await planted()
else
  process.exitCode =
    flags.seed === undefined ? await many(flags.seeds) : await one(whole(flags.seed, '--seed'))
