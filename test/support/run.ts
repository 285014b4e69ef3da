/** A real head (broker, log, log service, watch) in a temporary folder, and waiting with a deadline. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type HeadCore, type HeadCoreOptions, startHeadCore } from '../../src/actors/head/head-core.ts'
import { ROLLOUT_WORK } from '../../src/actors/runtime/work.ts'
import { type RunFolder, runFolder } from '../../src/broker/connection.ts'
import type { BusAddress } from '../../src/events/bus.ts'
import type { User } from '../../src/events/users.ts'

const folders: string[] = []
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rl-test-'))
  folders.push(folder)
  return folder
}

export type TestHead = HeadCore & {
  readonly folder: RunFolder
  /** Of a user of the head's own broker. */
  readonly addressOf: (user: User) => BusAddress
}

export async function startTestHead(
  options: Partial<HeadCoreOptions> & { run?: string; root?: string } = {},
): Promise<TestHead> {
  const { run = 'test', root = temporaryFolder(), ...rest } = options
  const folder = runFolder(run, root)
  const core = await startHeadCore({
    folder,
    work: [ROLLOUT_WORK],
    heartbeatMs: 200,
    minFreeBytes: 0,
    // A head that renews late, since others keep the machine busy, answers meanwhile that it does not know whether the run is its own.
    fenceTimes: { leaseMs: 120_000, renewMs: 1_000 },
    ...rest,
  })
  // The broker knows of each subscription from here on: a message that is sent once is heard.
  await core.bus.flush()
  return { ...core, folder, addressOf: (user) => core.broker?.addressOf(user) ?? core.address }
}

/** Waits until something is so; an error that names it when the deadline passes. */
export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  deadlineMs = 60_000,
): Promise<void> {
  const end = performance.now() + deadlineMs
  while (!(await check())) {
    if (performance.now() > end) throw new Error(`after ${deadlineMs} ms: not ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
