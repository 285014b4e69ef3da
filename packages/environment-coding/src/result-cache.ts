/**
 * Results by content. The most recently used are in memory. All are in a folder or among the executors of a
 * run, if one is given.
 */

import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Kept } from 'rlanything/environments'
import { packJson, unpackJson } from './packed-json.ts'
import type { RunResult } from './run-result.ts'

export type ResultCache = {
  readonly get: (key: string) => Promise<RunResult | undefined>
  readonly set: (key: string, result: RunResult) => void
  /** Resolves when everything set before is in the folder. */
  readonly flush: () => Promise<void>
}

export type ResultCacheOptions = {
  /** Bound of the memory part, counted in characters of output. */
  readonly maxCharacters?: number
  readonly folder?: string
  readonly kept?: Kept
}

/** Cost of a result besides its texts, in characters. */
const OVERHEAD = 200

export function createResultCache({
  maxCharacters = 32 << 20,
  folder,
  kept,
}: ResultCacheOptions = {}): ResultCache {
  const results = new Map<string, RunResult>()
  let characters = 0
  const writing = new Set<Promise<void>>()
  const costOf = (result: RunResult) => result.stdout.length + result.stderrTail.length + OVERHEAD

  function remember(key: string, result: RunResult): void {
    forget(key)
    results.set(key, result)
    characters += costOf(result)
    for (const oldest of results.keys()) {
      if (characters <= maxCharacters) break
      forget(oldest)
    }
  }

  function forget(key: string): void {
    const result = results.get(key)
    if (!result) return
    characters -= costOf(result)
    results.delete(key)
  }

  async function get(key: string): Promise<RunResult | undefined> {
    const known =
      results.get(key) ??
      (folder ? await load(folder, key) : undefined) ??
      (kept ? await loadKept(kept, key) : undefined)
    if (known) remember(key, known)
    return known
  }

  function set(key: string, result: RunResult): void {
    remember(key, result)
    kept?.set(key, packJson(result))
    if (!folder) return
    const written = store(folder, key, result).finally(() => writing.delete(written))
    writing.add(written)
  }

  async function flush(): Promise<void> {
    await Promise.all(writing)
  }

  return { get, set, flush }
}

const pathOf = (folder: string, key: string) => join(folder, key.slice(0, 2), `${key}.json`)

async function load(folder: string, key: string): Promise<RunResult | undefined> {
  try {
    return JSON.parse(await readFile(pathOf(folder, key), 'utf8')) as RunResult
  } catch {
    return undefined // absent or damaged: the program is run again
  }
}

async function loadKept(kept: Kept, key: string): Promise<RunResult | undefined> {
  const bytes = await kept.get(key)
  try {
    return bytes ? (unpackJson(bytes) as RunResult) : undefined
  } catch {
    return undefined
  }
}

/** Best effort: a result that cannot be kept is computed again. */
async function store(folder: string, key: string, result: RunResult): Promise<void> {
  const path = pathOf(folder, key)
  const draft = `${path}.${randomUUID()}`
  try {
    await mkdir(join(folder, key.slice(0, 2)), { recursive: true })
    await writeFile(draft, JSON.stringify(result))
    await rename(draft, path)
  } catch {
    return
  }
}
