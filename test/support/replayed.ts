import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { replay } from '../../src/replay/replay.ts'

/** Holds that a run below `root` is complete, and that it is replayed to its own digest. */
export function assertReplayed(root: string, run: string): void {
  const log = openLogReader(runFolder(run, root).log)
  try {
    const { difference, completed, digests } = replay(log)
    assert.is(difference, null)
    assert.ok(completed)
    assert.is(digests.replayed, digests.logged)
  } finally {
    log.close()
  }
}
