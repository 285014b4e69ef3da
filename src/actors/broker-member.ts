/** The process of a run's broker on another host. It runs a nats-server, and knows nothing of the run but who may join. */
import { join } from 'node:path'
import { startBroker } from '../broker/broker.ts'
import { runFolder, writePrivately } from '../broker/connection.ts'
import type { Join } from '../broker/joins.ts'
import { type MemberFile, publishedJoins } from '../broker/members.ts'
import { pause } from '../clock.ts'
import { connectPatiently } from '../events/nats/connect.ts'
import { itemAt } from '../item-at.ts'
import { giveSigns } from '../platform/signs-of-life.ts'
import { overMark } from './runtime/run-over.ts'

const LOOK_MS = 1_000
/** Time in which roles hear that their run is over, before the broker ends. */
const OVER_MS = 60_000

/** Runs a broker until it is told to end, or its run is over. Returns the exit status. */
export async function runMember(file: MemberFile): Promise<number> {
  const { run, index, members, nkey } = file
  const folder = runFolder(run)
  const tls = join(folder.broker, 'tls')
  const certificates = {
    ca: join(tls, 'ca.pem'),
    certificate: join(tls, 'server.pem'),
    key: join(tls, 'server-key.pem'),
  }
  for (const name of ['ca', 'certificate', 'key'] as const) writePrivately(certificates[name], file[name])
  giveSigns(folder.alive, 'broker')
  let joins: readonly Join[] = file.joins
  const { host } = itemAt(members, index)
  const broker = await startBroker({
    ...{ folder: folder.broker, run, nkey, onRestart: say, joins: () => joins },
    place: { host, certificates, cluster: { index, members } },
  })
  const bus = await connectPatiently({ ...broker.addressOf('tool'), name: `broker-${index}` })
  say(`broker ${index + 1} of ${members.length} of run '${run}' listens at ${broker.url}`)
  const ended = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ended.abort())
  let overSince: number | null = null
  try {
    while (!ended.signal.aborted) {
      joins = (await publishedJoins(bus, run).catch(() => null)) ?? joins
      const over = await overMark(bus, run)
        .isSet(1)
        .catch(() => false)
      if (over) overSince ??= performance.now()
      if (overSince !== null && performance.now() - overSince > OVER_MS) {
        say(`run '${run}' is over: this broker ends`)
        break
      }
      await pause(LOOK_MS, ended.signal)
    }
    return 0
  } finally {
    await bus.close()
    await broker.stop()
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
