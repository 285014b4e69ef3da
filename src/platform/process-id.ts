/**
 * Who a process is, wherever it is asked. A number alone is used again after a while, and means another process in each container;
 * containers may have equal host names. So the place in which the number counts and the start of the process belong to it.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname, networkInterfaces } from 'node:os'

export type ProcessId = {
  /** The machine since it was started, and the namespace of process numbers in it (16 hex digits). */
  readonly place: string
  readonly pid: number
  /** When the process began, in ticks since the machine was started; empty if the system does not tell it. */
  readonly start: string
}

/** `unknown`: the process is in another place, so nobody can look from here. */
export type Life = 'lives' | 'ended' | 'unknown'

const TEXT = /^([0-9a-f]{16})-(\d+)-(\d*)$/

/** This process. */
export const THIS_PROCESS: ProcessId = {
  place: placeOfThis(),
  pid: process.pid,
  start: statOf('self')?.start ?? '',
}

/** As it stands in names of files, records and events. */
export function processText({ place, pid, start }: ProcessId): string {
  return `${place}-${pid}-${start}`
}

/** Returns null if the text is none of `processText`. */
export function parseProcess(text: string | undefined): ProcessId | null {
  const [, place, pid, start] = TEXT.exec(text ?? '') ?? []
  return place === undefined ? null : { place, pid: Number(pid), start }
}

/** Whether a process lives. One whose start cannot be compared counts as living as long as its number is taken. */
export function lifeOf({ place, pid, start }: ProcessId): Life {
  if (place !== THIS_PROCESS.place) return 'unknown'
  if (!isTaken(pid)) return 'ended'
  const found = showsThisPlace() ? statOf(pid) : null
  if (found === null || start === '') return 'lives'
  return found.start === start && !found.isOver ? 'lives' : 'ended'
}

/**
 * Whether what a process holds is free: the process has ended, or it cannot be looked at from here and has not touched what it
 * holds for the time of a lease.
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

/** Linux tells of each start of the kernel by a UUID. Elsewhere the host's name and its network cards have to do. */
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

/** A process may be in a namespace of its own and still see the /proc of the one around it. */
function showsThisPlace(): boolean {
  return linkOf('/proc/self') === String(process.pid)
}

/** From /proc; null if nothing is told of the process. One that ended and that nobody has asked for yet is over. */
function statOf(pid: number | 'self'): { readonly start: string; readonly isOver: boolean } | null {
  const stat = read(`/proc/${pid}/stat`)
  if (stat === null) return null
  // The name before it may hold anything, also blanks and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { start: fields[19] ?? '', isOver: /^[ZX]/.test(fields[0]) }
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
