/**
 * Hostile messages of up to 8 MB, from a tool's and from a worker's connection: the longest turn of the head's loop in processor
 * time and on the clock, and the growth of its memory.
 *
 * npm run -s bench -- hostile [--messages 10000] [--seed 1]
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startHeadCore } from '../../src/actors/head/head-core.ts'
import { environmentOf, runFolder } from '../../src/broker/connection.ts'
import { runStarted } from '../../test/support/toy.ts'
import { report } from './report.ts'

const { values: flags } = parseArgs({
  args: process.argv.slice(3),
  options: { messages: { type: 'string', default: '10000' }, seed: { type: 'string', default: '1' } },
})

const MEGABYTE = 1024 * 1024
/** Time between two looks at the loop. */
const LOOK_MS = 1
const SENDER = fileURLToPath(new URL('./hostile/sender.ts', import.meta.url))

const root = mkdtempSync(join(tmpdir(), 'rl-bench-'))
const head = await startHeadCore({
  folder: runFolder('test', root),
  work: [],
  heartbeatMs: 1_000,
  minFreeBytes: 0,
  fenceTimes: { leaseMs: 120_000, renewMs: 1_000 },
})
try {
  head.service.append([runStarted])
  await head.bus.flush()
  const addressOf = (user: 'tool' | 'policy-worker') => head.broker?.addressOf(user) ?? head.address
  const before = process.memoryUsage()
  const most = { heapUsed: before.heapUsed, arrayBuffers: before.arrayBuffers }
  const longest = { wall: 0, own: 0 }
  let over = false
  let began = performance.now()
  let used = process.cpuUsage()
  /** Runs once a turn of the loop, and looks at the turn that ended. */
  const look = (): void => {
    const { user, system } = process.cpuUsage(used)
    longest.wall = Math.max(longest.wall, performance.now() - began - LOOK_MS)
    longest.own = Math.max(longest.own, (user + system) / 1000)
    const now = process.memoryUsage()
    most.heapUsed = Math.max(most.heapUsed, now.heapUsed)
    most.arrayBuffers = Math.max(most.arrayBuffers, now.arrayBuffers)
    began = performance.now()
    used = process.cpuUsage()
    if (!over) setTimeout(look, LOOK_MS)
  }
  look()
  const sent = await Promise.all(
    (['tool', 'policy-worker'] as const).map((user) => send(user, environmentOf(addressOf(user)))),
  )
  over = true
  const messages = sent.reduce((sum, count) => sum + count, 0)
  const row = (name: string, value: number, unit: string, goal: string | null) =>
    report({ suite: 'hostile', name, value, unit, goal, n: messages })
  row('hostile_messages', messages, 'messages', '>= 10000')
  // On two cores with broker and senders a turn also waits for a processor.
  row('longest_turn_cpu_ms', longest.own, 'ms', '< 50')
  row('longest_turn_ms', longest.wall, 'ms', null)
  row('heap_more_mb', (most.heapUsed - before.heapUsed) / MEGABYTE, 'MB', '< 100')
  row('buffers_more_mb', (most.arrayBuffers - before.arrayBuffers) / MEGABYTE, 'MB', null)
  row('events_taken', head.log.head().position - 1, 'events', '0')
} finally {
  await head.close()
  rmSync(root, { recursive: true, force: true })
}

/** Lets a process of its own send half of the messages. Returns their number. */
function send(user: string, env: NodeJS.ProcessEnv): Promise<number> {
  const words = [SENDER, user, String(Number(flags.messages) / 2), flags.seed]
  const child = spawn(process.execPath, words, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (status) =>
      status === 0 ? resolve(Number(output)) : reject(new Error(`the sender ended with ${status}`)),
    )
  })
}
