/**
 * Appends an event ten times a second, and writes the position and id of each that was answered to a file, one a line. Whatever a head
 * has answered must be in the log in the end.
 *
 *   RL_RUNS=<runs of the head> node bin/launch.mjs scripts/e2e/asker.ts RUN FILE
 */
import { appendFileSync } from 'node:fs'
import { runAddress } from '../../src/broker/connection.ts'
import { pause } from '../../src/clock.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { connectPatiently } from '../../src/events/nats/connect.ts'
import { systemPlatform } from '../../src/platform/platform.ts'

const EVERY_MS = 100

const [run = '', file = ''] = process.argv.slice(2)
const address = runAddress(run, 'environment-worker')
if (address === null) throw new Error(`run ${run} has no head`)
const bus = await connectPatiently({ ...address, name: 'asker' })
const log = connectLog({ bus, run, actor: 'environment' })
process.stdout.write('listening\n')
for (;;) {
  const since = Date.now()
  const data = { owner: 'asker', waitingFor: 'an answer', from: 'head', since, deadline: since }
  const id = systemPlatform.newId()
  void log.append([{ type: 'StallDetected', data }], { ids: [id] }).then(([answer]) => {
    if (answer) appendFileSync(file, `${answer.position} ${id}\n`)
  })
  await pause(EVERY_MS)
}
