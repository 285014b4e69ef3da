/** The head of the benchmark, in a process of its own. Each line on its input is answered with the processor time that it has used (us). */
import { createInterface } from 'node:readline'
import { startHeadCore } from '../../../src/actors/head/head-core.ts'
import { runFolder } from '../../../src/broker/connection.ts'

const core = await startHeadCore({ folder: runFolder('bench'), work: [] })
process.stdout.write(`${JSON.stringify({ broker: core.broker?.pid() ?? 0 })}\n`)
for await (const _ of createInterface({ input: process.stdin })) {
  const { user, system } = process.cpuUsage()
  const { position } = core.log.head()
  process.stdout.write(`${JSON.stringify({ cpuUs: user + system, position })}\n`)
}
await core.close()
