/** Does a fault to a run, and undoes it if it passes by itself. Resolves when the fault is over. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { readCredentials, runFolder } from '../../src/broker/connection.ts'
import { pause } from '../../src/clock.ts'
import type { Bus, BusAddress } from '../../src/events/bus.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import type { JoinedBroker } from './broker.ts'
import type { Fault, Victim } from './plan.ts'
import type { SmallDisk } from './small-disk.ts'
import type { SoakedRun } from './soaked-run.ts'

export type Scene = {
  readonly run: SoakedRun
  readonly root: string
  readonly disk: SmallDisk
  /** Null if the head has started its own broker. */
  readonly broker: JoinedBroker | null
  /** Aborted when the soak is to end: nothing may stay stopped or full. */
  readonly ending: AbortSignal
}

/** How long a victim that is just being started is waited for, and a broker that is. */
const FIND_MS = 20_000

/** Resolves to the victim, or to null if there was none in time. */
export async function strike(scene: Scene, fault: Fault): Promise<string | null> {
  const { run, disk, broker, ending } = scene
  switch (fault.kind) {
    case 'kill':
    case 'stop': {
      const pid = await victimOf(scene, fault.victim)
      if (pid === null) return null
      if (fault.kind === 'kill') {
        if (fault.victim === 'head') run.excuse()
        signal(pid, 'SIGKILL')
      } else {
        signal(pid, 'SIGSTOP')
        await pause(fault.seconds * 1000, ending)
        signal(pid, 'SIGCONT')
      }
      return `pid ${pid}`
    }
    case 'delete-queue':
    case 'delete-consumer': {
      const stream = `rl-${run.run}-${fault.queue}`
      const call =
        fault.kind === 'delete-queue' ? `STREAM.DELETE.${stream}` : `CONSUMER.DELETE.${stream}.workers`
      return (await ask(scene, call)) ? stream : null
    }
    case 'delete-fence':
      return (await ask(scene, `STREAM.DELETE.KV_rl-${run.run}-fence`)) ? 'epoch' : null
    case 'wipe-store': {
      if (broker) {
        broker.wipe()
        return 'joined broker'
      }
      const pid = await victimOf(scene, 'broker')
      if (pid === null) return null
      // Its memory holds data for which the next start finds no file.
      rmSync(join(runFolder(run.run, scene.root).broker, 'store'), { recursive: true, force: true })
      signal(pid, 'SIGKILL')
      return `pid ${pid}`
    }
    case 'store-full': {
      const filled = await withBus(scene, fillStore)
      await pause(fault.seconds * 1000, ending)
      if (filled) while (!(await ask(scene, `STREAM.DELETE.${FILLER}`))) await pause(100)
      return filled ? 'store' : null
    }
    case 'disk-full': {
      const giveBack = disk.fill()
      await pause(fault.seconds * 1000, ending)
      giveBack()
      // A nats-server that found not one byte left has turned its store off for good.
      if (broker && !(await ask(scene, 'INFO'))) broker.restart()
      return 'disk'
    }
  }
}

async function victimOf({ run, broker, ending }: Scene, victim: Victim): Promise<number | null> {
  const until = performance.now() + FIND_MS
  while (performance.now() < until && !ending.aborted && !run.isComplete()) {
    const pid = victim === 'broker' && broker ? broker.pid() : run.find(victim)
    if (pid !== null) return pid
    await pause(20)
  }
  return null
}

/** The process may have ended in between. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Makes one call with all rights. Resolves to false if the broker is away or refuses. */
async function ask(scene: Scene, call: string): Promise<boolean> {
  const answer = await withBus(scene, async (bus) => {
    const body = await bus.request(`$JS.API.${call}`, new Uint8Array(0), { timeoutMs: 2_000 })
    return JSON.parse(Buffer.from(body).toString()) as { error?: { code: number } }
  })
  // Something that is gone already needs no deletion.
  return answer !== null && (answer.error === undefined || answer.error.code === 404)
}

async function withBus<T>({ run, root, broker }: Scene, use: (bus: Bus) => Promise<T>): Promise<T | null> {
  const address: BusAddress | null = broker ?? readCredentials(runFolder(run.run, root), 'head')
  if (address === null) return null
  let bus: Bus | null = null
  try {
    bus = await connectBus({ ...address, name: 'soak', timeoutMs: 2_000 })
    return await use(bus)
  } catch {
    return null
  } finally {
    await bus?.close()
  }
}

const FILLER = 'soak-filler'

/** Fills the store up to its limit, in ever smaller pieces. */
async function fillStore(bus: Bus): Promise<boolean> {
  const stream = { name: FILLER, subjects: ['soak.filler'], storage: 'file', retention: 'limits' }
  await bus.request(`$JS.API.STREAM.CREATE.${FILLER}`, Buffer.from(JSON.stringify(stream)), {
    timeoutMs: 2_000,
  })
  for (const bytes of [256 * 1024, 16 * 1024, 64])
    for (let refused = false; !refused; ) {
      const answer = await bus.request('soak.filler', new Uint8Array(bytes), { timeoutMs: 2_000 })
      refused = Buffer.from(answer).includes('"error"')
    }
  return true
}
