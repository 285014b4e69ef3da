/**
 * Identity of a process that is valid from anywhere. A process number is used again after a while, and means
 * another process in each container. Containers may have equal host names. So the identity has three parts:
 * the place in which the number counts, the number, and the start of the process.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname, networkInterfaces } from 'node:os'

export type ProcessId = {
  /** One start of a machine, and one namespace of process numbers in it (16 hex digits). */
  readonly place: string
  readonly pid: number
  /** Start of the process, in ticks since the machine was started. Empty if the system does not tell it. */
  readonly start: string
}

/** `unknown`: the process is in another place and cannot be seen from here. */
export type Life = 'lives' | 'ended' | 'unknown'

const TEXT = /^([0-9a-f]{16})-(\d+)-(\d*)$/

/** This process. */
export const THIS_PROCESS: ProcessId = {
  place: placeOfThis(),
  pid: process.pid,
  start: statOf('self')?.start ?? '',
}

/** Returns the identity as it is written in names of files, records and events. */
export function processText({ place, pid, start }: ProcessId): string {
  return `${place}-${pid}-${start}`
}

/** Returns null if the text does not come from `processText`. */
export function parseProcess(text: string | undefined): ProcessId | null {
  const [, place, pid, start] = TEXT.exec(text ?? '') ?? []
  return place === undefined || start === undefined ? null : { place, pid: Number(pid), start }
}

/**
 * Whether a process lives. If its start cannot be compared, it counts as living as long as its number is
 * taken.
 */
export function lifeOf({ place, pid, start }: ProcessId): Life {
  if (place !== THIS_PROCESS.place) return 'unknown'
  if (!isTaken(pid)) return 'ended'
  const found = showsThisPlace() ? statOf(pid) : null
  if (found === null || start === '') return 'lives'
  return found.start === start && !found.isOver ? 'lives' : 'ended'
}

/**
 * Whether a process has given up what it holds. Either the process has ended. Or it cannot be seen from here,
 * and has not touched what it holds for the time of a lease.
 */
export function isAbandoned(holder: ProcessId | null, untouchedMs: number, leaseMs: number): boolean {
  const life = holder === null ? 'unknown' : lifeOf(holder)
  return life === 'ended' || (life === 'unknown' && untouchedMs > leaseMs)
}

function isTaken(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/**
 * Linux gives each start of the kernel a UUID. Elsewhere the host's name and its network cards stand in for
 * it.
 */
function placeOfThis(): string {
  const kernel = read('/proc/sys/kernel/random/boot_id') ?? JSON.stringify([hostname(), cards()])
  const spaces = ['pid', 'time'].map((kind) => linkOf(`/proc/self/ns/${kind}`))
  return createHash('sha256')
    .update(JSON.stringify([kernel, ...spaces]))
    .digest('hex')
    .slice(0, 16)
}

function cards(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return [...new Set(all.filter(({ internal }) => !internal).map(({ mac }) => mac))].sort()
}

/** A process may be in a namespace of its own and still see the /proc of the outer one. */
function showsThisPlace(): boolean {
  return linkOf('/proc/self') === String(process.pid)
}

/**
 * Reads /proc. Returns null if nothing is told of the process. A process that ended but was not waited for
 * yet is over.
 */
function statOf(pid: number | 'self'): { readonly start: string; readonly isOver: boolean } | null {
  const stat = read(`/proc/${pid}/stat`)
  if (stat === null) return null
  // The name before it may hold anything, also blanks and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { start: fields[19] ?? '', isOver: /^[ZX]/.test(fields[0] ?? '') }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return null
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}
