/**
 * The processes of a run by their part in it, found below its head. So other people's processes are never
 * touched.
 */
import { readdirSync, readFileSync } from 'node:fs'
import type { Victim } from './plan.ts'

/** Process ids of the run whose head is this process (Linux: from /proc). */
export function processesBelow(head: number): ReadonlyMap<Victim, number> {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const parent = parentOf(Number(name))
    if (parent !== null) parents.set(Number(name), parent)
  }
  const found = new Map<Victim, number>([['head', head]])
  for (const [pid, parent] of parents) {
    const words = wordsOf(pid)
    // The broker has a guard between it and the head.
    if (parents.get(parent) === head && words[0]?.endsWith('nats-server')) found.set('broker', pid)
    const role = words[words.indexOf('--role') + 1]
    if (parent === head && words.includes('--role'))
      found.set((words.includes('--worker') ? `${role}-worker` : role) as Victim, pid)
  }
  return found
}

function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in brackets may hold blanks. Fields are counted after it: the parent is the second.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return null
  }
}

function wordsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}
