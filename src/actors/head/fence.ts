/**
 * Ensures one writer a run on all hosts. A head takes an epoch in a JetStream bucket by compare and set, and renews it.
 * It stops as soon as another head has the run. Between renewals it writes for one lease and no longer. So a head that
 * stood still, or was cut off, does not write before it knows that the run is still its own.
 */
import { z } from 'zod'
import { type Clock, pause } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import type { Bus } from '../../events/bus.ts'
import { patiently } from '../../events/patience.ts'
import { type Platform, systemPlatform } from '../../platform/platform.ts'
import { parseProcess, processText } from '../../platform/process-id.ts'
import { fenceBucket } from '../runtime/run-over.ts'

export type Fence = {
  /** The epoch of the previous head plus one. */
  readonly epoch: number
  /** Why this head may not write now, or null. */
  readonly refusal: () => RlError | null
  /** Resolves when another head has the run. */
  readonly lost: Promise<RlError>
  /** Gives the run up, so that the next head need not wait. `next` names a standby that takes it at once. */
  readonly release: (next?: string) => Promise<void>
}

export type FenceOptions = {
  readonly bus: Bus
  readonly run: string
  /** Highest epoch that the log knows: the bucket may have been wiped. */
  readonly after: number
  /** True if nobody else can be on this broker. An earlier head's record is then taken at once. */
  readonly alone: boolean
  /** Revision of a record whose head was silent for a lease, as a standby saw it. */
  readonly silent?: number
  /** Time for which a silent head keeps the run. */
  readonly leaseMs?: number
  readonly renewMs?: number
  /**
   * Hears since when (ms since 1970) the broker has not answered. If the silence goes on, it hears so again after the
   * same number of renewals.
   */
  readonly onSilence?: (since: number) => void
  readonly platform?: Platform
}

const recordSchema = z.object({
  epoch: z.int().positive(),
  holder: z.uuid(),
  host: z.string().max(256),
  pid: z.int().nonnegative(),
  /** The process in the form of `processText`. Older heads do not write it. */
  process: z.string().max(100).optional(),
  released: z.boolean(),
  /** Standby that the run was given to. */
  next: z.string().max(256).optional(),
})
type FenceRecord = z.infer<typeof recordSchema>
/** The record is null if the stored value is no record of a head. The holder of the run then overwrites it. */
type Entry = { readonly record: FenceRecord | null; readonly sequence: number }

type Taken = {
  readonly record: FenceRecord
  readonly askedAt: number
  /** Time at which an earlier head knows of this one, or has no lease any more. */
  readonly heldFrom: number
}

const KEY = 'head'
/** Time between looks of a standby. A run that is given to it waits for the next one. */
const LOOK_MS = 50
const LEASE_MS = 4_000
const RENEW_MS = 1_000
const TRIES = 5
/**
 * This number of renewals in a row without an answer counts as silence of the broker: 3 to 6 seconds. Fewer are a
 * passing fault.
 */
const SILENT_RENEWALS = 3

/** Takes the fence of a run. Errors: `head.second` if another head lives, and those of the bus. */
export async function takeFence(options: FenceOptions): Promise<Fence> {
  const {
    bus,
    run,
    after,
    alone,
    silent,
    leaseMs = LEASE_MS,
    renewMs = RENEW_MS,
    onSilence = () => {},
    platform = systemPlatform,
  } = options
  const { clock } = platform
  const cell = openCell(bus, run)
  await patiently(cell.make, clock)
  const holder = platform.newId()
  const own = (epoch: number, released = false, next?: string): FenceRecord => ({
    epoch,
    holder,
    host: platform.hostname,
    pid: platform.self.pid,
    process: processText(platform.self),
    released,
    ...(next === undefined ? {} : { next }),
  })

  /**
   * Takes the run. If the log or the bucket knows of an earlier silent head, this waits for it, even if the bucket was
   * wiped since.
   */
  async function take(): Promise<Taken> {
    let hadHead = after > 0
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const before = await patiently(cell.read, clock)
      hadHead ||= Boolean(before?.record)
      const isSilent = before !== null && before.sequence === silent
      const isFree =
        alone || !hadHead || isSilent || Boolean(before?.record && isOver(before.record, platform))
      if (!isFree && !hasSlept(before, after)) await outlive(before, cell, { run, after, leaseMs, clock })
      const record = own(Math.max(after, before?.record?.epoch ?? 0) + 1)
      const askedAt = clock.monotonic()
      const taken = await patiently(() => cell.write(record, before?.sequence ?? 0), clock)
      if (taken?.record?.holder === holder)
        return {
          record,
          askedAt,
          heldFrom: isFree || !hasSlept(before, after) ? 0 : clock.monotonic() + leaseMs,
        }
    }
    throw new RlError(`other heads take run '${run}' all the time`, { code: 'head.second' })
  }

  /**
   * The run is not this head's before `heldFrom`. The head may have written its record without finding its old one, and
   * other heads may not know.
   */
  let { record, askedAt: renewedAt, heldFrom } = await take()
  /** Times of failed renewals since the last answer. */
  let unanswered: number[] = []
  let loss: RlError | null = null
  let tellLoss: (error: RlError) => void = () => {}
  const lost = new Promise<RlError>((resolve) => {
    tellLoss = resolve
  })

  /**
   * Writes this head's record again and returns the stored record. If the bucket was wiped, it is made anew. The record
   * is read first: numbers start again in a new bucket, so another's record may have our record's number. The highest
   * epoch has the run. A lower epoch comes from a head that slept and wrote into a wiped bucket.
   */
  async function rewrite(next: FenceRecord): Promise<Entry | null> {
    const before = await cell.read()
    const isOwn = before?.record?.holder === holder
    if (before === null) await cell.make()
    else if (before.record && !isOwn && before.record.epoch >= next.epoch) return before
    const waits = !isOwn && !isHeld()
    if (waits) heldFrom = clock.monotonic() + leaseMs
    const entry = await cell.write(next, before?.sequence ?? 0)
    if (waits) heldFrom = clock.monotonic() + leaseMs
    return entry
  }

  function isHeld(): boolean {
    const now = clock.monotonic()
    return now >= heldFrom && now - renewedAt < leaseMs
  }

  async function renew(): Promise<void> {
    const askedAt = clock.monotonic()
    const entry = await rewrite(record).catch(() => null)
    if (!entry?.record) {
      // The broker is away, and the lease ends by itself. A broker that is restarted for this needs a moment until it
      // answers. If each failed renewal were told, the listener would end it again and again.
      const now = clock.now()
      const [since = now] = unanswered
      if (unanswered.push(now) % SILENT_RENEWALS === 0) onSilence(since)
      return
    }
    unanswered = []
    if (entry.record.holder === holder) {
      renewedAt = askedAt
      return
    }
    if (entry.record.epoch < record.epoch) return // It is written over the next time.
    const { epoch, pid, host } = entry.record
    loss = new RlError(`another head has run '${run}': process ${pid} on ${host}, epoch ${epoch}`, {
      code: 'head.fenced',
      hint: 'a run has one head; what this one wrote since is in its own log alone',
    })
    endRenewals()
    tellLoss(loss)
  }

  let renewing: Promise<void> | null = null
  const endRenewals = clock.every(renewMs, () => {
    renewing ??= renew().finally(() => {
      renewing = null
    })
  })

  return {
    epoch: record.epoch,
    lost,
    refusal() {
      if (loss) return loss
      if (isHeld()) return null
      return new RlError(`this head does not know whether run '${run}' is still its own`, {
        code: 'log.not-held',
        hint: 'ask again: it finds out within a second',
      })
    },
    async release(next) {
      endRenewals()
      await renewing
      if (loss) return
      record = own(record.epoch, true, next)
      await rewrite(record).catch(() => {})
    },
  }
}

/**
 * Returns true if the log knows of a later head than the stored one. The stored head wrote its record again after the
 * bucket was wiped.
 */
function hasSlept(entry: Entry | null, after: number): boolean {
  return Boolean(entry?.record && entry.record.epoch < after)
}

/**
 * Waits until the head of a run is over, or was silent for a lease. Time in which the broker does not answer does not count: the head
 * cannot be heard then.
 *
 * @param isMeant whether a head that gave the run up meant it for this standby: `next` names one, or is null. A run that is meant for
 * nobody stays with its head. One that is meant for another standby waits longer.
 * @returns revision of the head's record, for `silent`
 */
export async function awaitSilence({
  bus,
  run,
  signal,
  isMeant,
  leaseMs = LEASE_MS,
  platform = systemPlatform,
}: Pick<FenceOptions, 'bus' | 'run' | 'leaseMs' | 'platform'> & {
  readonly signal: AbortSignal
  readonly isMeant: (next: string | null) => boolean
}): Promise<number> {
  const { clock } = platform
  const cell = openCell(bus, run)

  /** Time that the record must stand before this standby takes the run. */
  function patienceWith(record: FenceRecord | null): number {
    if (record === null || !isOver(record, platform)) return leaseMs
    if (!record.released || isMeant(record.next ?? null)) return 0
    return record.next === undefined ? Number.POSITIVE_INFINITY : 2 * leaseMs
  }

  let seen: number | null = null
  let since = clock.monotonic()
  for (;;) {
    const entry = await cell.read().catch(() => null)
    const now = clock.monotonic()
    if (entry === null || entry.sequence !== seen) since = now
    seen = entry?.sequence ?? null
    if (entry !== null && now - since >= patienceWith(entry.record)) return entry.sequence
    if (signal.aborted) throw signal.reason
    await pause(LOOK_MS, signal, clock)
  }
}

/** Waits until nobody has said anything for a lease, by this host's own clock. */
async function outlive(
  before: Entry | null,
  cell: Pick<ReturnType<typeof openCell>, 'read'>,
  {
    run,
    after,
    leaseMs,
    clock,
  }: { readonly run: string; readonly after: number; readonly leaseMs: number; readonly clock: Clock },
): Promise<void> {
  const until = clock.monotonic() + leaseMs
  while (clock.monotonic() < until) {
    await pause(Math.min(250, leaseMs / 4), undefined, clock)
    const now = await cell.read()
    if (now?.record?.released || hasSlept(now, after)) return
    if (now?.record && (now.sequence !== before?.sequence || now.record.holder !== before.record?.holder))
      throw new RlError(
        `run '${run}' has a head: process ${now.record.pid} on ${now.record.host}, epoch ${now.record.epoch}`,
        { code: 'head.second', hint: 'end that one first, or choose another run id' },
      )
  }
}

function recordOf(value: Uint8Array): FenceRecord | null {
  try {
    return recordSchema.parse(JSON.parse(Buffer.from(value).toString()))
  } catch {
    return null
  }
}

/** Whether its holder gave it up, or is known to have ended. One that nobody can look at from here has its lease. */
function isOver({ released, process }: FenceRecord, { lifeOf }: Platform): boolean {
  const holder = parseProcess(process)
  return released || (holder !== null && lifeOf(holder) === 'ended')
}

/** One key of a bucket: `nats kv get rl-<run>-fence head` shows it. */
function openCell(bus: Bus, run: string) {
  const store = bus.store({ name: fenceBucket(run) })

  async function read(): Promise<Entry | null> {
    const found = await store.get(KEY)
    return found && { record: recordOf(found.value), sequence: found.revision }
  }

  return {
    read,
    make: store.ensure,
    /** Writes if the last sequence is still `after`, and returns what is stored then. So a lost answer does no harm. */
    async write(record: FenceRecord, after: number): Promise<Entry | null> {
      await store.update(KEY, Buffer.from(JSON.stringify(record)), after).catch(() => {})
      return read()
    },
  }
}
