/** The work of each host for a run, as `rl status` shows it. A run may have a thousand: those with trouble come first. */
import type { Clock } from '../../clock.ts'
import type { CheckedEvent } from '../../events/codec.ts'
import type { Role } from '../../events/envelope.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { parseProcess } from '../../platform/process-id.ts'
import { type Code, codesOf, isOtherCode } from './other-code.ts'
import type { AsideHost } from './set-asides.ts'
import type { WatchedActor } from './watch.ts'

export type HostRow = {
  readonly host: string
  /** Place of its processes: hosts may share a name. Empty if they do not tell it. */
  readonly place: string
  /** Number of processes of each role. */
  readonly roles: Readonly<Partial<Record<Role, number>>>
  /** Processes that were not heard of in time. */
  readonly silent: number
  /** Pieces of work that its processes take at a time. */
  readonly slots: number
  /** Pieces of work that were done in the last minute. Null if it is too early to tell. */
  readonly perMinute: number | null
  /** Longest way to the broker and back, in ms. Null if no process tells it. */
  readonly roundTripMs: number | null
  /** How far its clock is ahead of the head's, in ms: the smallest distance that a process told. Null if none does. */
  readonly clockAheadMs: number | null
  /** Different codes of its processes. Null stands for a process that tells none. */
  readonly codes: readonly Code[]
  /** Whether a process has other code than the head. */
  readonly isOther: boolean
  readonly lastError: HostError | null
  /** Weights that its last rollouts were played with. Null if it has played none since the head was started. */
  readonly weights: HostWeights | null
  /** Present while it is put aside. */
  readonly aside?: Pick<AsideHost, 'failed' | 'tries' | 'until'>
}

export type HostWeights = {
  /** Newest policy version that a rollout of this host was played with. A host that trains plays with its own. */
  readonly version: number
  /** Number of newer versions. */
  readonly behind: number
  /** Time since the host was first heard of with this version. */
  readonly forMs: number
}

/** A policy version, and when it was first seen, by the head's clock. */
type SeenVersion = { readonly version: number; readonly since: number }

export type HostError = { readonly time: number; readonly worker: string; readonly error: string }

export type Hosts = {
  readonly total: {
    readonly hosts: number
    readonly processes: number
    readonly silent: number
    readonly otherCode: number
    readonly slots: number
    readonly perMinute: number | null
  }
  /** At most `MOST_ROWS`. */
  readonly rows: readonly HostRow[]
}

export type HostFacts = {
  /** Hears of appended events. */
  readonly observe: (events: readonly { readonly event: CheckedEvent }[]) => void
  readonly hostsOf: (actors: readonly WatchedActor[], aside: ReadonlyMap<string, AsideHost>) => Hosts
}

/** A message of the broker holds about 1 MB. */
export const MOST_ROWS = 200
const ERROR_CHARACTERS = 200

/** Begins with what the log tells of processes so far. */
export function openHostFacts(log: LogReader, clock: Clock): HostFacts {
  const versions = new Map<string, SeenVersion>()
  let newest = 0
  const see = (worker: string, version: number) => {
    if (version > (versions.get(worker)?.version ?? -1)) versions.set(worker, { version, since: clock.now() })
  }
  for (const { data } of log.events({ types: ['PolicyUpdated'] })) newest = Math.max(newest, data.version)
  const codes = new Map<string, Code>(Object.entries(codesOf(log)))
  const errors = new Map<string, HostError>()
  const noteError = (time: number, worker: string, error: string) =>
    errors.set(worker, { time, worker, error: error.slice(0, ERROR_CHARACTERS) })
  for (const { time, data } of log.events({ types: ['ActorFailed'] }))
    noteError(time, data.worker, data.error)

  return {
    observe(events) {
      for (const { event } of events) {
        const { envelope } = event
        if (envelope.type === 'ActorStarted') codes.set(envelope.data.worker, envelope.data.code ?? null)
        if (envelope.type === 'ActorFailed')
          noteError(envelope.time, envelope.data.worker, envelope.data.error)
        if (envelope.type === 'TrajectoryCompleted') see(envelope.actor, envelope.data.policyVersion)
        if (envelope.type === 'PolicyUpdated') {
          newest = Math.max(newest, envelope.data.version)
          see(envelope.actor, envelope.data.version)
        }
      }
    },
    hostsOf(actors, aside) {
      const weightsOf = (members: readonly WatchedActor[]) =>
        weightsIn(members, versions, newest, clock.now())
      return hostsOf(actors, codes, errors, aside, weightsOf)
    },
  }
}

/** Returns rows of hosts and their sum. */
export function hostsOf(
  actors: readonly WatchedActor[],
  codes: ReadonlyMap<string, Code>,
  errors: ReadonlyMap<string, HostError>,
  aside: ReadonlyMap<string, AsideHost> = new Map(),
  weightsOf: (members: readonly WatchedActor[]) => HostWeights | null = () => null,
): Hosts {
  const head = actors.find(({ role }) => role === 'head')
  const own = head ? (codes.get(head.worker) ?? null) : null
  const rows = membersOf(actors).map((members) => ({
    ...rowOf(members, own, codes, errors),
    weights: weightsOf(members),
    ...asideOf(members, aside),
  }))
  return {
    total: {
      hosts: rows.length,
      processes: actors.length,
      silent: sum(rows.map(({ silent }) => silent)),
      otherCode: rows.filter(({ isOther }) => isOther).length,
      slots: sum(rows.map(({ slots }) => slots)),
      perMinute: sumOfKnown(rows.map(({ perMinute }) => perMinute)),
    },
    rows: rows.sort(byTrouble).slice(0, MOST_ROWS),
  }
}

/** Machines and containers may share a name: the place of a process tells them apart. */
function membersOf(actors: readonly WatchedActor[]): readonly (readonly WatchedActor[])[] {
  const byHost = new Map<string, WatchedActor[]>()
  for (const actor of actors) {
    const key = `${actor.host} ${parseProcess(actor.process)?.place}`
    const members = byHost.get(key)
    if (members) members.push(actor)
    else byHost.set(key, [actor])
  }
  return [...byHost.values()]
}

function rowOf(
  members: readonly WatchedActor[],
  own: Code,
  codes: ReadonlyMap<string, Code>,
  errors: ReadonlyMap<string, HostError>,
): Omit<HostRow, 'weights'> {
  const roles: Partial<Record<Role, number>> = {}
  for (const { role } of members) roles[role] = (roles[role] ?? 0) + 1
  const found = new Map<string | undefined, Code>()
  for (const { worker } of members) {
    const code = codes.get(worker) ?? null
    found.set(code?.digest, code)
  }
  const ways = members.flatMap(({ roundTripMs }) => roundTripMs ?? [])
  // A busy process is heard late, so the smallest distance is nearest to the truth.
  const clocks = members
    .flatMap(({ clockAheadMs }) => clockAheadMs ?? [])
    .sort((a, b) => Math.abs(a) - Math.abs(b))
  const failed = members.flatMap(({ worker }) => errors.get(worker) ?? [])
  return {
    host: members[0]?.host ?? '',
    place: parseProcess(members[0]?.process)?.place ?? '',
    roles,
    silent: members.filter(({ stalled }) => stalled).length,
    slots: sum(members.map(({ slots }) => slots ?? 0)),
    perMinute: sumOfKnown(members.map(({ perMinute }) => perMinute)),
    roundTripMs: ways.length === 0 ? null : Math.max(...ways),
    clockAheadMs: clocks[0] ?? null,
    codes: [...found.values()],
    isOther: [...found.values()].some((code) => isOtherCode(code, own)),
    lastError: failed.toSorted((a, b) => b.time - a.time)[0] ?? null,
  }
}

/** Players tell what a host plays with. If nobody plays on it, the policy's own process counts. */
function weightsIn(
  members: readonly WatchedActor[],
  versions: ReadonlyMap<string, SeenVersion>,
  newest: number,
  now: number,
): HostWeights | null {
  const seenBy = (wanted: Role) =>
    members.flatMap(({ role, worker }) => (role === wanted ? (versions.get(worker) ?? []) : []))
  const players = seenBy('environment')
  const seen = players.length > 0 ? players : seenBy('policy')
  if (seen.length === 0) return null
  const version = Math.max(...seen.map((one) => one.version))
  const since = Math.min(...seen.filter((one) => one.version === version).map((one) => one.since))
  return { version, behind: Math.max(0, newest - version), forMs: Math.max(0, now - since) }
}

function asideOf(
  [first]: readonly WatchedActor[],
  aside: ReadonlyMap<string, AsideHost>,
): Pick<HostRow, 'aside'> {
  const found = aside.get(parseProcess(first?.process)?.place ?? '')
  return found ? { aside: { failed: found.failed, tries: found.tries, until: found.until } } : {}
}

function byTrouble(a: HostRow, b: HostRow): number {
  return (
    b.silent - a.silent ||
    Number(b.aside !== undefined) - Number(a.aside !== undefined) ||
    Number(b.isOther) - Number(a.isOther) ||
    (b.lastError?.time ?? 0) - (a.lastError?.time ?? 0) ||
    a.host.localeCompare(b.host)
  )
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

function sumOfKnown(numbers: readonly (number | null)[]): number | null {
  const known = numbers.filter((one) => one !== null)
  return known.length === 0 ? null : sum(known)
}
