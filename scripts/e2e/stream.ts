/**
 * Asks the brokers of a run who leads the stream of its records, or lets them choose anew. FILE is the join file of a head.
 *
 *   node bin/launch.mjs scripts/e2e/stream.ts RUN FILE leader|step-down
 */
import { z } from 'zod'
import { joinedAddress } from '../../src/actors/joined.ts'
import { readJoinFile } from '../../src/broker/joins.ts'
import { pause } from '../../src/clock.ts'
import { connectPatiently } from '../../src/events/nats/connect.ts'

const infoSchema = z.object({ cluster: z.object({ leader: z.string().optional() }) })
const CHOICE_MS = 20_000

const [run = '', file = '', what = 'leader'] = process.argv.slice(2)
const stream = `rl-${run}-log`
const bus = await connectPatiently({ ...joinedAddress(await readJoinFile(file)), name: 'stream' })
try {
  if (what === 'step-down') await ask(`LEADER.STEPDOWN.${stream}`)
  process.stdout.write(`${await leader()}\n`)
} finally {
  await bus.close()
}

async function leader(): Promise<string> {
  const late = performance.now() + CHOICE_MS
  for (;;) {
    const info = await ask(`INFO.${stream}`)
      .then((answer) => infoSchema.parse(answer))
      .catch(() => null)
    if (info?.cluster.leader) return info.cluster.leader
    if (performance.now() > late) throw new Error(`nobody leads ${stream}`)
    await pause(100)
  }
}

async function ask(name: string): Promise<unknown> {
  const answer = await bus.request(`$JS.API.STREAM.${name}`, new Uint8Array(), { timeoutMs: 2_000 })
  return JSON.parse(Buffer.from(answer).toString())
}
