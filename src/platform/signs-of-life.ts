/**
 * Files by which a process says on its own machine that it lives and that its event loop turns. A probe reads
 * them without a network. So a machine that is cut off is not taken for one that hangs.
 */
import { mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAbandoned, type Life, lifeOf, parseProcess, processText, THIS_PROCESS } from './process-id.ts'

export type SignOfLife = {
  readonly pid: number
  readonly life: Life
  /** Milliseconds since the process said so. */
  readonly silentMs: number
}

const SIGN_MS = 2_000
/** After this time nobody asks any more for the sign of a process that cannot be seen from here. */
const FORGET_MS = 3_600_000

/**
 * Gives signs in the folder until this process ends, or until the returned function is called. If the disk
 * refuses them, a probe fails, and nothing else does.
 *
 * @param kind what the process is, e.g. `head`
 * @example const end = giveSigns('runs/run-1/alive', 'head')
 */
export function giveSigns(folder: string, kind: string): () => void {
  const path = join(folder, `${kind}.${processText(THIS_PROCESS)}`)
  const sign = () => quietly(() => touch(path))
  const end = () => {
    clearInterval(timer)
    process.off('exit', end)
    quietly(() => rmSync(path, { force: true }))
  }
  quietly(() => mkdirSync(folder, { recursive: true, mode: 0o700 }))
  quietly(() => forget(folder))
  sign()
  const timer = setInterval(sign, SIGN_MS).unref()
  process.on('exit', end)
  return end
}

/** Returns the signs of a kind of process, those of ended processes included. */
export function readSigns(folder: string, kind: string): readonly SignOfLife[] {
  return namesIn(folder).flatMap((name) => {
    const said = name.startsWith(`${kind}.`) ? parseProcess(name.slice(kind.length + 1)) : null
    const silentMs = silenceOf(join(folder, name))
    return said === null || silentMs === null ? [] : [{ pid: said.pid, life: lifeOf(said), silentMs }]
  })
}

/** The folder is not made again: a run that was removed stays so. */
function touch(path: string): void {
  const now = new Date()
  try {
    utimesSync(path, now, now)
  } catch {
    writeFileSync(path, '', { mode: 0o600 })
  }
}

/** Removes signs of processes that were killed. */
function forget(folder: string): void {
  for (const name of namesIn(folder)) {
    const path = join(folder, name)
    const said = parseProcess(name.slice(name.indexOf('.') + 1))
    if (isAbandoned(said, silenceOf(path) ?? 0, FORGET_MS)) rmSync(path, { force: true })
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** A clock that was set back counts as silence too, until the next sign. */
function silenceOf(path: string): number | null {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? null : Math.abs(Date.now() - found.mtimeMs)
}

function quietly(action: () => void): void {
  try {
    action()
  } catch {}
}
