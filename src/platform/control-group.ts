/**
 * Memory and process limits over a whole sandbox, if this process may make control groups (as root, or
 * delegated).
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A group that serves one sandbox after another, one at a time. */
export type ControlGroup = {
  /** Sets the limits, and moves the process and all its present descendants into the group. */
  readonly enter: (pid: number, limits: { readonly memoryMB: number; readonly processes: number }) => void
  /** Number of times that the kernel has ended a process of this group for its memory. */
  readonly oomKills: () => number
  /**
   * Memory that the group holds, in kB: processes and files in memory. Cached files of the disk do not count.
   */
  readonly heldKB: () => number
  /**
   * Ends the remaining processes of the group and removes it. A group that is not empty after some seconds is
   * left to the next start.
   */
  readonly remove: () => Promise<void>
}

type Files = {
  readonly folders: readonly string[]
  readonly memoryLimit: string
  readonly processLimit: string
  readonly oomEvents: string
  readonly statistics: string
}

/** The waits double from 1 ms to this: about 4 s in all. */
const LONGEST_WAIT_MS = 2048

/**
 * Makes a group. Returns null if this process may not make control groups.
 * @param use one word that tells this group from others of the process
 * @param slot number of the group among those of the same use
 * @example
 * const group = createControlGroup('shell', 0)
 * group?.enter(pid, { memoryMB: 512, processes: 64 })
 */
export function createControlGroup(use: string, slot: number): ControlGroup | null {
  const name = `rl-${use}-${process.pid}-${slot}`
  const files = openVersion1(name) ?? openVersion2(name)
  if (!files) return null
  return {
    enter(pid, { memoryMB, processes }) {
      writeFileSync(files.memoryLimit, String(memoryMB * 2 ** 20))
      writeFileSync(files.processLimit, String(processes))
      const members = new Set<number>()
      // A process may start a child after its children were listed and before it was moved.
      for (let found = withDescendants(pid); found.length > 0; ) {
        for (const member of found) {
          members.add(member)
          for (const folder of files.folders) moveInto(folder, member)
        }
        found = withDescendants(pid).filter((member) => !members.has(member))
      }
    },
    oomKills: () => Number(/^oom_kill (\d+)$/m.exec(readFileSync(files.oomEvents, 'utf8'))?.[1] ?? 0),
    heldKB() {
      const text = readFileSync(files.statistics, 'utf8')
      // Version 1 counts files in memory (shmem) beside rss, version 2 beside anon.
      const held = [...text.matchAll(/^(rss|anon|shmem) (\d+)$/gm)].reduce(
        (sum, [, , bytes]) => sum + Number(bytes),
        0,
      )
      return Math.round(held / 1024)
    },
    async remove() {
      for (let wait = 1; wait <= LONGEST_WAIT_MS; wait *= 2) {
        for (const pid of files.folders.flatMap(membersOf)) endProcess(pid)
        if (files.folders.filter((folder) => !removeFolder(folder)).length === 0) return
        await sleep(wait)
      }
    },
  }
}

/** Version 1: one folder in the hierarchy of each of the two controllers. */
function openVersion1(name: string): Files | null {
  const memory = ownFolder('memory')
  const pids = ownFolder('pids')
  if (!memory || !pids) return null
  const [ofMemory, ofPids] = [join(memory, name), join(pids, name)]
  const folders = [ofMemory, ofPids]
  if (!makeFolders(folders)) return null
  return {
    folders,
    memoryLimit: join(ofMemory, 'memory.limit_in_bytes'),
    processLimit: join(ofPids, 'pids.max'),
    oomEvents: join(ofMemory, 'memory.oom_control'),
    statistics: join(ofMemory, 'memory.stat'),
  }
}

/** Version 2: one folder, beside this process's own. A group with processes cannot have limited children. */
function openVersion2(name: string): Files | null {
  const own = ownFolder('')
  if (!own) return null
  const folder = join(dirname(own), name)
  if (!makeFolders([folder])) return null
  if (!existsSync(join(folder, 'memory.max')) || !existsSync(join(folder, 'pids.max'))) {
    removeFolder(folder)
    return null
  }
  return {
    folders: [folder],
    memoryLimit: join(folder, 'memory.max'),
    processLimit: join(folder, 'pids.max'),
    oomEvents: join(folder, 'memory.events'),
    statistics: join(folder, 'memory.stat'),
  }
}

/** Returns this process's folder in a controller's hierarchy ('' is version 2), or null. */
function ownFolder(controller: string): string | null {
  try {
    for (const line of readFileSync('/proc/self/cgroup', 'utf8').split('\n')) {
      const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
      if (path === undefined || !controllers?.split(',').includes(controller)) continue
      const folder = join('/sys/fs/cgroup', controller, path)
      if (existsSync(join(folder, 'cgroup.procs'))) return folder
    }
  } catch {
    return null
  }
  return null
}

/** Makes the folders and removes those of dead processes. Returns false if that is not allowed. */
function makeFolders(folders: readonly string[]): boolean {
  try {
    for (const folder of folders) {
      sweep(dirname(folder))
      mkdirSync(folder)
      writeFileSync(join(folder, 'cgroup.procs'), '', { flag: 'a' })
    }
    return true
  } catch {
    folders.forEach(removeFolder)
    return false
  }
}

/** Moves a process. A process that has just ended cannot be moved, and need not be. */
function moveInto(folder: string, pid: number): void {
  try {
    writeFileSync(join(folder, 'cgroup.procs'), String(pid))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function sweep(parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, pid] = /^rl-[a-z]+-(\d+)-\d+$/.exec(name) ?? []
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) removeFolder(join(parent, name))
  }
}

/**
 * Removes a folder and returns whether it is gone. A folder stays while a process is in it or is leaving it.
 */
function removeFolder(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch {
    return !existsSync(folder)
  }
}

function membersOf(folder: string): number[] {
  try {
    return readFileSync(join(folder, 'cgroup.procs'), 'utf8')
      .split('\n')
      .map(Number)
      .filter((pid) => pid > 0)
  } catch {
    return [] // the folder is gone
  }
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    return // it has ended by itself
  }
}

/**
 * Returns the process and all its descendants.
 *
 * @example for (const member of withDescendants(pid).toReversed()) process.kill(member)
 */
export function withDescendants(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap((child) => withDescendants(child))]
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return [] // it has ended
  }
}
