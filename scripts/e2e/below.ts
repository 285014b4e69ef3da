/** Processes below others, from /proc: so nobody else's process is ever touched. */
import { readdirSync, readFileSync } from 'node:fs'

/** Returns the first child of a process, or null. */
export function childOf(pid: number): number | null {
  return childrenOf(pid)[0] ?? null
}

/** Returns a process below another one whose program has this name, or null. */
export function programBelow(pid: number, program: string): number | null {
  for (const child of childrenOf(pid)) {
    const found = programOf(child) === program ? child : programBelow(child, program)
    if (found !== null) return found
  }
  return null
}

function childrenOf(pid: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((other) => parentOf(other) === pid)
}

function parentOf(pid: number): number | null {
  const stat = read(pid, 'stat')
  // The name in brackets may hold blanks: fields are counted after it, and the parent is the second.
  return stat === null ? null : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

function programOf(pid: number): string | null {
  return read(pid, 'comm')?.trim() ?? null
}

/** Null if the process has ended. */
function read(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return null
  }
}
