/** Appends events and keeps blobs in the folder of argv[2], and says on standard output when each is durable. */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { openBlobStore } from '../../src/events/blobs.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { openLog } from '../../src/events/log.ts'

const folder = process.argv[2]
const log = openLog(join(folder, 'events.db'), { run: 'durable', minFreeBytes: 0 })
for (let n = 1; n <= 3; n++) {
  const envelope = {
    ...{ id: `01900000-0000-7000-8000-00000000000${n}`, type: 'RunFailed', v: 1, run: 'durable' },
    ...{ actor: 'head', time: n, cause: null, data: { reason: `${n}` } },
  } as const
  log.append([log.check(encodeEnvelope(envelope))])
  writeSync(1, 'an event is durable\n')
}
log.close()
const blobs = openBlobStore(join(folder, 'blobs'))
for (const text of ['one', 'two']) {
  blobs.put(Buffer.from(text))
  writeSync(1, 'a blob is durable\n')
}
