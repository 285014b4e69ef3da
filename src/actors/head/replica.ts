/**
 * Gives each transaction of the log to the brokers of a cluster before anybody hears of it. So whatever a head has answered or
 * published survives the death of its machine. A head that lost the run finds another's record in the place of its own, and stops.
 */
import { pause } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import type { Bus } from '../../events/bus.ts'
import type { BlobRef } from '../../events/codec.ts'
import type { EventLog } from '../../events/log.ts'
import { BLOB_CHUNK } from '../../events/log-protocol.ts'
import { encodeRecord, type LogRecord, RECORD_BYTES, RECORD_EVENTS } from '../../events/log-records.ts'
import type { RecordStream } from '../../events/record-stream.ts'
import { subjectsOf } from '../../events/subjects.ts'
import { itemAt } from '../../item-at.ts'
import type { Platform } from '../../platform/platform.ts'
import { openLogCopy } from './log-copy.ts'

/** An event at its position, as the log has it. */
type Row = { readonly position: number; readonly body: Uint8Array }

export type Replica = {
  /** Last position that the brokers have: nobody may hear of a later one. */
  readonly position: () => number
  /** Hears of each transaction of the log, in order. */
  readonly note: (rows: readonly Row[]) => void
  /** Resolves once the brokers have all that was noted. Errors: `head.fenced`, `log.closing`. */
  readonly kept: () => Promise<void>
  /** Resolves once the brokers have this blob. Errors: as `kept`. */
  readonly keepBlob: (ref: BlobRef) => Promise<void>
  /** Calls back whenever `position` has moved. */
  readonly onKept: (callback: () => void) => void
  /** Resolves if another head has the run. */
  readonly lost: Promise<RlError>
  /** Waits for what was noted, but no longer than some seconds. */
  readonly close: () => Promise<void>
}

export type ReplicaOptions = {
  readonly log: EventLog
  readonly records: RecordStream
  /** Epoch of this head. */
  readonly epoch: number
  readonly platform: Platform
}

/** The records of a run, which its head alone may write. */
export function recordsOf(bus: Pick<Bus, 'records'>, run: string): RecordStream {
  return bus.records({ name: `rl-${run}-log`, subject: subjectsOf(run).records })
}

type Job = {
  readonly record: LogRecord
  readonly done: () => void
  readonly failed: (error: RlError) => void
}

const AGAIN_MS = 100
const CLOSE_MS = 5_000

/**
 * Brings the log up to the records, marks the run as this head's, and gives the rest of the log to the brokers.
 *
 * @throws RlError `head.fenced`, `log.diverged`, and those of the bus
 */
export async function openReplica(options: ReplicaOptions): Promise<Replica> {
  const { log, records, epoch, platform } = options
  const { clock } = platform
  const { run } = log
  const copy = openLogCopy(log, records)
  /** Transactions that wait for their record. */
  let waiting: Job[] = []
  const blobs = new Map<string, Promise<void>>()
  let lastBlob: Promise<void> = Promise.resolve()
  let newest: Promise<void> = Promise.resolve()
  let onKept = () => {}
  let sending = false
  let closed = false
  let failure: RlError | null = null
  let tellLoss: (error: RlError) => void = () => {}
  const lost = new Promise<RlError>((resolve) => {
    tellLoss = resolve
  })

  function fenced(): RlError {
    return new RlError(`another head has run '${run}', of epoch ${copy.epoch()}`, {
      code: 'head.fenced',
      hint: 'a run has one head; what this one wrote since is in its own log alone',
    })
  }

  /** Repeats a call of the brokers until one of them answers. */
  async function patiently<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      if (closed) throw closing(run)
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof RlError && error.code.startsWith('bus.'))) throw error
        await pause(AGAIN_MS, undefined, clock)
        if (error.code === 'bus.no-jetstream') await records.ensure().catch(() => {})
      }
    }
  }

  async function hold(): Promise<void> {
    for (;;) {
      await patiently(copy.readOn)
      if (copy.epoch() > epoch) throw fenced()
      if (await append({ kind: 'fence', epoch })) return
    }
  }

  /** Returns false if another record stands in its place. */
  async function append(record: LogRecord): Promise<boolean> {
    const body = encodeRecord(record)
    try {
      await patiently(() => records.append(body, copy.number()))
    } catch (error) {
      if (error instanceof RlError && error.code === 'record.taken') return false
      throw error
    }
    copy.passOver(record)
    return true
  }

  async function reasonOfLoss(): Promise<RlError> {
    if ((await patiently(records.last)) < copy.number())
      return new RlError(`the brokers of run '${run}' have lost its records`, {
        code: 'record.lost',
        hint: `nothing of this head's log is lost: start it again, and it gives the brokers all of it`,
      })
    await patiently(copy.readOn).catch(() => {})
    return fenced()
  }

  async function send(): Promise<void> {
    if (sending) return
    sending = true
    try {
      while (waiting.length > 0) {
        const jobs = takeJobs(waiting)
        if (!(await append(together(jobs)))) throw await reasonOfLoss()
        waiting = waiting.slice(jobs.length)
        for (const { done } of jobs) done()
        onKept()
      }
    } catch (error) {
      fail(error as RlError)
    } finally {
      sending = false
    }
  }

  function fail(error: RlError): void {
    failure = error
    for (const { failed } of waiting) failed(error)
    waiting = []
    tellLoss(error)
  }

  function give(record: LogRecord): Promise<void> {
    if (failure) return Promise.reject(failure)
    const given = new Promise<void>((done, failed) => {
      waiting.push({ record, done, failed })
    })
    given.catch(() => {})
    newest = given
    void send()
    return given
  }

  async function giveBlob({ sha256, bytes }: BlobRef): Promise<void> {
    for (let offset = 0; ; offset += BLOB_CHUNK) {
      const chunk = log.blobs.chunk({ sha256, bytes }, offset, BLOB_CHUNK)
      await give({ kind: 'blob', epoch, sha256, bytes, offset, chunk })
      if (offset + chunk.byteLength >= bytes) return
    }
  }

  function note(rows: readonly Row[]): void {
    const [first] = rows
    if (first === undefined) return
    const bodies = rows.map(({ body }) => body)
    void give({ kind: 'events', epoch, from: first.position, bodies }).catch(() => {})
  }

  /** A log that began without these brokers has blobs that they do not know. */
  async function giveRest(): Promise<void> {
    if (copy.position() === 0 && log.head().position > 0)
      for (const ref of log.blobs.own()) await giveBlob(ref)
    while (copy.position() < log.head().position) {
      const { events } = log.page({ from: copy.position() + 1, limit: RECORD_EVENTS, maxBytes: RECORD_BYTES })
      note(events)
      await newest
    }
  }

  await patiently(records.ensure)
  await hold()
  await giveRest()

  return {
    position: copy.position,
    note,
    kept: () => (failure ? Promise.reject(failure) : newest),
    keepBlob(ref) {
      const known = blobs.get(ref.sha256)
      if (known) return known
      // Pieces of two blobs must not mix.
      const given = lastBlob.then(() => giveBlob(ref))
      blobs.set(ref.sha256, given)
      given.catch(() => blobs.delete(ref.sha256))
      lastBlob = given.catch(() => {})
      return given
    },
    onKept(callback) {
      onKept = callback
    },
    lost,
    async close() {
      const late = new AbortController()
      await Promise.race([newest.catch(() => {}), pause(CLOSE_MS, late.signal, clock).catch(() => {})])
      late.abort()
      closed = true
    },
  }
}

/** Takes the jobs of the next record: transactions together as long as they are few and short, and anything else alone. */
function takeJobs(waiting: readonly Job[]): readonly Job[] {
  let bytes = 0
  let events = 0
  let count = 0
  for (const { record } of waiting) {
    if (record.kind !== 'events') break
    bytes += record.bodies.reduce((sum, body) => sum + body.byteLength, 0)
    events += record.bodies.length
    if (count > 0 && (bytes > RECORD_BYTES || events > RECORD_EVENTS)) break
    count++
  }
  return waiting.slice(0, Math.max(1, count))
}

function together(jobs: readonly Job[]): LogRecord {
  const { record } = itemAt(jobs, 0)
  if (record.kind !== 'events') return record
  const bodies = jobs.flatMap((job) => (job.record.kind === 'events' ? job.record.bodies : []))
  return { ...record, bodies }
}

function closing(run: string): RlError {
  return new RlError(`the head of run '${run}' is closing`, { code: 'log.closing' })
}
