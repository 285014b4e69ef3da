/**
 * Hears every event that a run tells, and writes its position and id to a file, one a line. It shows whether anything was told that
 * is not in the log in the end, or whether one position was told for two events.
 *
 *   RL_RUNS=<runs of the head> node bin/launch.mjs scripts/e2e/witness.ts RUN FILE [JOIN]
 *
 * With JOIN, the join file of a head, it reaches all brokers of a cluster.
 */
import { appendFileSync } from 'node:fs'
import { joinedAddress } from '../../src/actors/joined.ts'
import { runAddress } from '../../src/broker/connection.ts'
import { readJoinFile } from '../../src/broker/joins.ts'
import { unpackFast } from '../../src/events/fast-unpack.ts'
import { connectPatiently } from '../../src/events/nats/connect.ts'
import { POSITION_HEADER, subjectsOf } from '../../src/events/subjects.ts'

const [run = '', file = '', join] = process.argv.slice(2)
const address = join === undefined ? runAddress(run) : joinedAddress(await readJoinFile(join))
if (address === null) throw new Error(`run ${run} has no head`)
const bus = await connectPatiently({ ...address, name: 'witness' })
bus.subscribe(subjectsOf(run).evt('*'), ({ body, header }) => {
  const { id } = unpackFast(body) as { readonly id: string }
  appendFileSync(file, `${header(POSITION_HEADER)} ${id}\n`)
})
await bus.flush()
process.stdout.write('listening\n')
