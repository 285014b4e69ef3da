/** Memory and processor time of a process with all that it started, sampled from /proc (Linux). */
import { readdirSync, readFileSync } from 'node:fs'

export type Sample = {
  readonly timeMs: number
  /** Resident memory of all processes together, in bytes. Shared pages count once a process. */
  readonly rss: number
  /** Resident memory by role. If a role has several processes, the largest counts. */
  readonly rssOf: Readonly<Record<string, number>>
  /** Processor seconds so far, by role. `nats-server` and `head` are among them. */
  readonly cpu: Readonly<Record<string, number>>
}

const TICKS_PER_SECOND = 100
const PAGE = 4096

/** Samples until it is stopped. Roles that have ended keep their last figure. */
export function watchProcesses(
  root: number,
  everyMs = 200,
): { readonly samples: Sample[]; readonly stop: () => void } {
  const samples: Sample[] = []
  const seen = new Map<number, { role: string; seconds: number }>()
  const timer = setInterval(() => {
    let rss = 0
    const rssOf: Record<string, number> = {}
    for (const { pid, pages, seconds } of family(root)) {
      rss += pages * PAGE
      // A process that has just been forked still bears its parent's command line.
      const role = roleOf(pid) ?? seen.get(pid)?.role ?? 'other'
      seen.set(pid, { role, seconds })
      rssOf[role] = Math.max(rssOf[role] ?? 0, pages * PAGE)
    }
    const cpu: Record<string, number> = {}
    for (const { role, seconds } of seen.values()) cpu[role] = (cpu[role] ?? 0) + seconds
    if (rss > 0) samples.push({ timeMs: Date.now(), rss, rssOf, cpu })
  }, everyMs)
  return { samples, stop: () => clearInterval(timer) }
}

type Process = {
  readonly pid: number
  readonly parent: number
  readonly pages: number
  readonly seconds: number
}

function family(root: number): Process[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? processOf(Number(name)) : []))
  const inside = new Set([root])
  for (let grown = true; grown; ) {
    grown = false
    for (const { pid, parent } of all)
      if (inside.has(parent) && !inside.has(pid)) {
        inside.add(pid)
        grown = true
      }
  }
  return all.filter(({ pid }) => inside.has(pid))
}

function processOf(pid: number): Process[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in brackets may hold blanks. Fields are counted after it: state is the first.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return [
      {
        pid,
        parent: Number(fields[1]),
        seconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
        pages: Number(fields[21]),
      },
    ]
  } catch {
    return []
  }
}

function roleOf(pid: number): string | null {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    if (words[0].endsWith('nats-server')) return 'nats-server'
    const flag = words.indexOf('--role')
    return flag < 0 ? null : words[flag + 1]
  } catch {
    return null
  }
}
