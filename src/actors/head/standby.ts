/**
 * A standby of a head. It copies the run's log from the records that the brokers keep, into a file of its own. If the head ends or is
 * silent for a lease, the standby becomes the head.
 */
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { basename, join } from 'node:path'
import { z } from 'zod'
import type { RunFolder } from '../../broker/connection.ts'
import { takeRunFolder } from '../../broker/own-folder.ts'
import { type Clock, pause, systemClock } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import type { Bus } from '../../events/bus.ts'
import { type EventLog, openLog } from '../../events/log.ts'
import type { RecordStream } from '../../events/record-stream.ts'
import { turnOf } from '../../events/run-turn.ts'
import { type Platform, systemPlatform } from '../../platform/platform.ts'
import { fenceBucket } from '../runtime/run-over.ts'
import { awaitSilence } from './fence.ts'
import { openLogCopy } from './log-copy.ts'
import { recordsOf } from './replica.ts'

export type StandbyOptions = {
  readonly bus: Bus
  readonly folder: RunFolder
  /** Ends the wait. */
  readonly signal: AbortSignal
  /** Tells a person one line. */
  readonly say: (line: string) => void
  readonly leaseMs?: number
  /** Called once, as soon as the copy of the log holds the start of the run. */
  readonly prepare?: (log: EventLog) => Promise<void>
  /** Opens this host's copy of the log. For simulations. */
  readonly open?: () => EventLog
  readonly platform?: Platform
}

/**
 * How the wait of a standby ends. `take`: the run is free, and the copy of its log is whole. `silent` is the revision of the old
 * head's record. `over`: the run is complete.
 */
export type StandbyEnd = { readonly kind: 'take'; readonly silent: number } | { readonly kind: 'over' }

/** Time between looks for new records that no message told of. */
const LOOK_MS = 250
/** Time in which a head must have begun to keep records. */
const FIRST_MS = 10_000
/** Time between announcements that this process stands by. */
const ANNOUNCE_MS = 1_000
/** Files of a log and of what is made of it. Blobs and checkpoints are named by their content, and stay. */
const MADE_OF_A_LOG = [
  'events.db',
  'events.db-wal',
  'events.db-shm',
  'events.db-mark',
  'segments',
  'frames',
  'projections.db',
  'projections.db-wal',
  'projections.db-shm',
]

/**
 * Follows the head of a run until the run is free or over.
 *
 * @throws RlError `standby.no-records` if the head keeps no records, `log.locked`, and those of the log
 */
export async function standBy(options: StandbyOptions): Promise<StandbyEnd> {
  const { bus, folder, signal, say, leaseMs, prepare = async () => {}, platform = systemPlatform } = options
  const { open = () => openLog(folder.log, { run: folder.run }) } = options
  const { run } = folder
  const { clock } = platform
  const records = recordsOf(bus, run)
  await awaitRecords()
  takeRunFolder(folder.folder)
  let { log, copy } = await openCopy(records, open, options)
  say(`standby of run '${run}': the log is here up to position ${log.head().position}`)
  let wake = () => {}
  const endCalls = records.onAppended(() => wake())
  const speak = () => announce(bus, run, log, platform)
  speak()
  const endAnnouncements = clock.every(ANNOUNCE_MS, speak)
  const found = new AbortController()
  const isMeant = (next: string | null) =>
    next === platform.hostname || (next === null && turnOf(log).kind === 'begun')
  const free = awaitSilence({
    bus,
    run,
    leaseMs,
    platform,
    signal: AbortSignal.any([signal, found.signal]),
    isMeant,
  })
  let silent: number | null = null
  let prepared = false
  free.then(
    (revision) => {
      silent = revision
      wake()
    },
    () => wake(),
  )
  try {
    for (;;) {
      if (signal.aborted) throw signal.reason
      const isFree = silent
      try {
        await copy.readOn()
        if (isFree !== null) return { kind: 'take', silent: isFree }
        if (turnOf(log).kind === 'completed') return { kind: 'over' }
        if (!prepared && log.head().position > 0) {
          prepared = true
          await prepare(log)
        }
      } catch (error) {
        if (!(error instanceof RlError)) throw error
        if (error.code === 'log.diverged') {
          log.close()
          ;({ log, copy } = await openCopy(records, open, options))
        } else if (!error.code.startsWith('bus.')) throw error
      }
      const slept = new AbortController()
      wake = () => slept.abort()
      if (silent === null || isFree === silent) await pause(LOOK_MS, slept.signal, clock)
    }
  } finally {
    found.abort()
    endCalls()
    endAnnouncements()
    log.close()
  }

  async function awaitRecords(): Promise<void> {
    const until = clock.monotonic() + FIRST_MS
    for (;;) {
      if (signal.aborted) throw signal.reason
      const last = await records.last().catch(() => 0)
      if (last > 0) return
      if (clock.monotonic() > until)
        throw new RlError(`no head of run '${run}' keeps records of its log at ${bus.url}`, {
          code: 'standby.no-records',
          hint: `its head needs a cluster of brokers and --set run.replicas=3 when the run begins`,
        })
      await pause(LOOK_MS, signal, clock)
    }
  }
}

type OpenCopy = { readonly log: EventLog; readonly copy: ReturnType<typeof openLogCopy> }

/** Opens this host's copy and brings it up to the records. A log that is not the run's any more is put aside, and copied anew. */
async function openCopy(
  records: RecordStream,
  open: () => EventLog,
  { folder, signal, say, platform: { clock } = systemPlatform }: StandbyOptions,
): Promise<OpenCopy> {
  for (;;) {
    const log = open()
    try {
      const copy = openLogCopy(log, records)
      await copy.readOn()
      return { log, copy }
    } catch (error) {
      log.close()
      if (!(error instanceof RlError)) throw error
      if (error.code.startsWith('bus.')) {
        // Brokers that choose a leader answer nothing for some seconds.
        await pause(LOOK_MS, signal, clock)
        if (signal.aborted) throw signal.reason
        continue
      }
      if (error.code !== 'log.diverged') throw error
      say(`${error.message}; it is kept in ${putAside(folder)}, and copied anew`)
    }
  }
}

/** Moves the log of a head that lost the run out of the way. Returns the name of its new folder. */
function putAside({ folder }: RunFolder): string {
  let place = ''
  for (let count = 1; place === '' || existsSync(place); count++) place = join(folder, `put-aside-${count}`)
  mkdirSync(place, { mode: 0o700 })
  for (const name of MADE_OF_A_LOG)
    if (existsSync(join(folder, name))) renameSync(join(folder, name), join(place, name))
  return basename(place)
}

type Word = z.infer<typeof wordSchema>
const wordSchema = z.object({
  host: z.string().max(256),
  /** Last position of its copy of the log. */
  position: z.int().nonnegative(),
})

/** Key under which the standby of a host says that it lives, in the bucket of the fence. */
const keyOf = (host: string) => `standby-${host.replace(/[^A-Za-z0-9_-]/g, '_')}`
/** Key of the standby that spoke last. */
const ANY = 'standby'

function announce(bus: Bus, run: string, log: EventLog, { hostname }: Platform): void {
  const word: Word = { host: hostname, position: log.head().position }
  const store = bus.store({ name: fenceBucket(run) })
  for (const key of [keyOf(hostname), ANY]) store.put(key, Buffer.from(JSON.stringify(word)))
}

/**
 * Returns the standby that lives at a host, or any one if the host is null. A standby lives if it speaks while this looks. Clocks of
 * hosts differ.
 */
export async function livingStandby(
  bus: Bus,
  run: string,
  host: string | null,
  clock: Clock = systemClock,
): Promise<Word | null> {
  const store = bus.store({ name: fenceBucket(run) })
  const key = host === null ? ANY : keyOf(host)
  const first = await store.get(key)
  const until = clock.monotonic() + 3 * ANNOUNCE_MS
  while (clock.monotonic() < until) {
    await pause(ANNOUNCE_MS / 5, undefined, clock)
    const now = await store.get(key)
    if (now !== null && now.revision !== first?.revision)
      return wordSchema.parse(JSON.parse(Buffer.from(now.value).toString()))
  }
  return null
}
