/** Three real brokers that form a cluster on this machine. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { findNatsServer } from '../../src/broker/find.ts'
import type { BusAddress } from '../../src/events/bus.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { spawnGuarded } from '../../src/platform/processes.ts'
import { temporaryFolder, until } from './run.ts'

export type Cluster = {
  /** All of them. */
  readonly address: BusAddress
  readonly urls: readonly string[]
  /** Kills one at once. */
  readonly kill: (index: number) => Promise<void>
  readonly start: (index: number) => void
  readonly close: () => Promise<void>
}

const TOKEN = 'a-token-of-a-cluster'
const SIZE = 3

export async function startCluster(): Promise<Cluster> {
  const { path: program } = await findNatsServer()
  const root = temporaryFolder()
  const numbers = Array.from({ length: SIZE }, (_, index) => index)
  const ports = await freePorts(2 * SIZE)
  const clients = ports.slice(0, SIZE)
  const routes = ports.slice(SIZE).map((port) => `nats://127.0.0.1:${port}`)
  const running = new Map<number, ReturnType<typeof spawnGuarded>>()

  function start(index: number): void {
    const folder = join(root, String(index))
    mkdirSync(folder, { recursive: true })
    const config = join(folder, 'nats.conf')
    writeFileSync(
      config,
      `server_name: "n${index}"
listen: "127.0.0.1:${clients[index]}"
log_file: "${join(folder, 'nats.log')}"
authorization { token: "${TOKEN}" }
max_payload: 8MB
jetstream { store_dir: "${folder}" }
cluster { name: "test", listen: "127.0.0.1:${ports[SIZE + index]}", routes: ${JSON.stringify(routes)} }
`,
    )
    running.set(index, spawnGuarded(program, ['-c', config]))
  }

  async function kill(index: number): Promise<void> {
    const guard = running.get(index)
    if (guard === undefined) return
    running.delete(index)
    const ended = new Promise((resolve) => guard.once('exit', resolve))
    guard.stdin?.end()
    await ended
  }

  for (const index of numbers) start(index)
  const urls = clients.map((port) => `nats://127.0.0.1:${port}`)
  const address = { url: urls.join(','), token: TOKEN }
  await until('the cluster has a leader', () => isReady(address))
  return {
    address,
    urls,
    kill,
    start,
    async close() {
      await Promise.all(numbers.map(kill))
    },
  }
}

/** Whether the brokers chose who keeps their streams. */
async function isReady(address: BusAddress): Promise<boolean> {
  try {
    const bus = await connectBus({ ...address, replicas: SIZE, timeoutMs: 2_000 })
    try {
      await bus.store({ name: 'ready' }).ensure()
      return true
    } finally {
      await bus.close()
    }
  } catch {
    return false
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve) => {
          server.listen(0, '127.0.0.1', () => {
            const address = server.address()
            resolve(address !== null && typeof address === 'object' ? address.port : 0)
          })
        }),
    ),
  )
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
