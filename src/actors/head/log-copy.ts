/** A copy of a run's log, made of the records that the head's brokers keep. Positions and hashes are those of the head. */
import { RlError } from '../../errors.ts'
import type { BlobWriter } from '../../events/blobs.ts'
import type { CheckedEvent } from '../../events/codec.ts'
import type { EventLog } from '../../events/log.ts'
import { decodeRecord, type LogRecord } from '../../events/log-records.ts'
import type { RecordStream } from '../../events/record-stream.ts'

export type LogCopy = {
  /** Reads on to the newest record. Errors: `log.diverged`, `record.malformed`, those of the log and of the bus. */
  readonly readOn: () => Promise<void>
  /** Notes a record that this process appended itself. */
  readonly passOver: (record: LogRecord) => void
  /** Number of the last record that was read. */
  readonly number: () => number
  /** Last position that the records hold. */
  readonly position: () => number
  /** Epoch of the newest head that the records name. */
  readonly epoch: () => number
}

/** Records that are asked for at a time. */
const AHEAD = 16
/** Name under which the log keeps how far its records were read. */
const META = 'records'
/** Records between two writes of that: each is a transaction of its own. */
const KEPT_EVERY = 64

/** @param log is written to: it must be the only writer */
export function openLogCopy(log: EventLog, records: RecordStream): LogCopy {
  const kept = JSON.parse(log.meta(META) ?? '{}') as Partial<Record<'number' | 'position' | 'epoch', number>>
  let { number = 0, position = 0, epoch = 0 } = kept
  let upload: { readonly sha256: string; readonly writer: BlobWriter } | null = null

  async function readOn(): Promise<void> {
    const last = await records.last()
    // The brokers lost their store, and somebody fills a new one.
    if (last < number) begin()
    while (number < last) {
      const numbers = Array.from({ length: Math.min(AHEAD, last - number) }, (_, index) => number + 1 + index)
      const bodies = await Promise.all(numbers.map((one) => records.read(one)))
      for (const [index, body] of bodies.entries()) {
        if (body === null) return
        const at = number + 1
        if (numbers[index] !== at) return
        take(decodeRecord(body, at))
      }
    }
  }

  function begin(): void {
    number = 0
    position = 0
    upload?.writer.discard()
    upload = null
  }

  function take(record: LogRecord): void {
    if (record.kind === 'events') takeEvents(record)
    if (record.kind === 'blob') takePiece(record)
    passOver(record)
  }

  function passOver(record: LogRecord): void {
    number++
    if (record.kind === 'events') position = record.from + record.bodies.length - 1
    if (record.kind === 'fence') epoch = Math.max(epoch, record.epoch)
    // After a restart a blob is taken from its first piece on.
    if (upload === null && (record.kind === 'fence' || number % KEPT_EVERY === 0)) keep()
  }

  /** What is not kept is read again, and compared. So a full disk does no harm. */
  function keep(): void {
    try {
      log.setMeta(META, JSON.stringify({ number, position, epoch }))
      if (epoch > Number(log.meta('epoch') ?? 0)) log.setMeta('epoch', String(epoch))
    } catch (error) {
      if (!(error instanceof RlError && error.code === 'log.disk-full')) throw error
    }
  }

  function takeEvents({ from, bodies }: Extract<LogRecord, { kind: 'events' }>): void {
    const fresh: CheckedEvent[] = []
    for (const [index, body] of bodies.entries()) {
      const row = log.row(from + index)
      if (row === null) fresh.push(log.check(body))
      else if (Buffer.compare(row.body, body) !== 0) throw diverged(from + index)
    }
    if (fresh.length === 0) return
    const first = from + bodies.length - fresh.length
    if (first !== log.head().position + 1) throw diverged(log.head().position + 1)
    for (const [index, appended] of log.append(fresh, { urgent: true }).entries())
      if (appended.duplicate || appended.position !== first + index) throw diverged(first + index)
  }

  function takePiece({ sha256, bytes, offset, chunk }: Extract<LogRecord, { kind: 'blob' }>): void {
    if (log.blobs.has(sha256)) return
    if (offset === 0) {
      upload?.writer.discard()
      upload = { sha256, writer: log.blobs.begin({ sha256, bytes }) }
    }
    if (upload === null || upload.sha256 !== sha256 || upload.writer.written() !== offset) return
    upload.writer.write(chunk)
    if (upload.writer.written() < bytes) return
    const { writer } = upload
    upload = null
    writer.seal()
  }

  function diverged(at: number): RlError {
    return new RlError(`the log at ${log.path} is not that of run '${log.run}' from position ${at} on`, {
      code: 'log.diverged',
      hint: 'another head has the run; this copy is put aside at the next start as a standby',
    })
  }

  return { readOn, passOver, number: () => number, position: () => position, epoch: () => epoch }
}
