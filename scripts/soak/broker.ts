/**
 * A nats-server for several runs, with a store of a few megabytes that can be filled. It is started again
 * when it ends.
 */
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { findNatsServer } from '../../src/broker/find.ts'
import { pause } from '../../src/clock.ts'
import { spawnGuarded } from '../../src/platform/processes.ts'

export type JoinedBroker = {
  readonly url: string
  readonly token: string
  /** Null while it is being started again. */
  readonly pid: () => number | null
  /** Kills the server. It comes back with its store. */
  readonly restart: () => void
  /** The same with an empty store. */
  readonly wipe: () => void
  readonly stop: () => Promise<void>
}

const STORE_MEGABYTES = 4

export async function startJoinedBroker(folder: string): Promise<JoinedBroker> {
  const { path: program } = await findNatsServer()
  const token = randomBytes(16).toString('hex')
  const port = await freePort()
  const [config, store, pidFile] = ['nats.conf', 'store', 'nats.pid'].map((name) => join(folder, name))
  mkdirSync(store, { recursive: true })
  writeFileSync(
    config,
    `host: "127.0.0.1"
port: ${port}
authorization { token: "${token}" }
max_payload: 8MB
pid_file: "${pidFile}"
jetstream { store_dir: "${store}", max_file_store: ${STORE_MEGABYTES}MB }
`,
    { mode: 0o600 },
  )
  let guard: ChildProcess
  const kill = () => void guard.stdin?.end()
  let stopped = false
  let wiping = false

  function start(): void {
    guard = spawnGuarded(program, ['-c', config])
    guard.once('exit', () => {
      if (stopped) return
      if (wiping) rmSync(store, { recursive: true, force: true })
      wiping = false
      start()
    })
  }

  function pid(): number | null {
    try {
      const found = Number(readFileSync(pidFile, 'utf8'))
      process.kill(found, 0)
      return found
    } catch {
      return null
    }
  }

  start()
  while (pid() === null) await pause(20)
  return {
    url: `nats://127.0.0.1:${port}`,
    token,
    pid,
    restart: kill,
    wipe() {
      wiping = true
      kill()
    },
    async stop() {
      stopped = true
      const ended = new Promise((resolve) => guard.once('exit', resolve))
      kill()
      await ended
    },
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
