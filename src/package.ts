/** This package: the location of its files, and how one of its modules starts in its own process or thread. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { RlError } from './errors.ts'

/** Whether this code runs from the sources, whose types Node strips, and not from the compiled package. */
export const SOURCES = import.meta.url.endsWith('.ts')

/** The folder with package.json, config/ and data/. src and dist lie side by side in it and have the same structure. */
export const PACKAGE_ROOT = fileURLToPath(new URL('../', import.meta.url))

/**
 * Returns the folder for data that is kept between runs: `.cache/` in a checkout, else the user's cache folder, which survives a
 * reinstallation. Returns null if the package is installed and the user's home folder is unknown.
 */
export function findCache(): string | null {
  if (SOURCES) return join(PACKAGE_ROOT, '.cache/')
  const folder = userCache()
  return folder === null ? null : join(folder, 'rlanything/')
}

/** Returns a path in the cache folder. It is computed on demand: most commands need none. Errors: `cache.no-home`. */
export function cachePlace(...parts: readonly string[]): string {
  const cache = findCache()
  if (cache !== null) return join(cache, ...parts)
  throw noHome('what is kept between runs has no place')
}

/** Returns the user's home folder. Errors: `cache.no-home`, with `what` as the purpose. */
export function homeFolder(what: string): string {
  const home = findHome()
  if (home !== null) return home
  throw noHome(what)
}

function noHome(what: string): RlError {
  return new RlError(`${what}: this user has no home folder`, {
    code: 'cache.no-home',
    hint: 'set HOME to a folder that can be written, or XDG_CACHE_HOME for the cache alone',
  })
}

/** Returns null without HOME and without a line in /etc/passwd, e.g. for users of a container that have only a number. */
function findHome(): string | null {
  try {
    const home = homedir()
    return isAbsolute(home) ? home : null
  } catch {
    return null
  }
}

/** Returns the path of a named file: in the working directory, else in the package (`config/default.yaml`). */
export function findFile(name: string): string {
  const own = join(PACKAGE_ROOT, name)
  return !existsSync(name) && existsSync(own) ? own : name
}

/** From Node 22 on each heap reserves 96 MB for new objects, and a run has a dozen heaps. 48 MB, as before, are as fast. */
const YOUNG = '--max-semi-space-size=16'

/**
 * Returns the arguments of `node` that run a module of this package in its own process.
 * @param source URL of the module's source, `new URL('../main.ts', import.meta.url)`
 */
export function nodeWords(source: URL): readonly string[] {
  return [YOUNG, fileURLToPath(moduleUrl(source))]
}

/** Starts a worker thread with a module of this package. `source` is as for `nodeWords`. */
export function startThread(source: URL, workerData: unknown): Worker {
  return new Worker(moduleUrl(source), { workerData, execArgv: [] })
}

let code: string | undefined
let others: () => readonly string[] = () => []

/** Adds packages to `codeDigest`, by the addresses of their main modules. */
export function addCode(mainModules: () => readonly string[]): void {
  others = mainModules
  code = undefined
}

/**
 * Returns the SHA-256 (hex) over all modules of this package, its package.json, and the packages that bring settings. It is equal for
 * the same code, also in a checkout with changes.
 */
export function codeDigest(): string {
  if (code !== undefined) return code
  const hash = createHash('sha256').update(readFileSync(join(PACKAGE_ROOT, 'package.json')))
  const roots = [
    join(PACKAGE_ROOT, SOURCES ? 'src' : 'dist'),
    ...others().map((main) => dirname(realpathSync(fileURLToPath(main)))),
  ]
  for (const root of roots) {
    const modules = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.[jt]s$/.test(file),
    )
    for (const file of modules.sort()) hash.update(`\n${file}\n`).update(readFileSync(join(root, file)))
  }
  code = hash.digest('hex')
  return code
}

function moduleUrl(source: URL): URL {
  return SOURCES ? source : new URL(source.href.replace(/\.ts$/, '.js'))
}

function userCache(): string | null {
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env
  if (process.platform === 'win32' && LOCALAPPDATA) return LOCALAPPDATA
  const home = findHome()
  if (process.platform === 'darwin' && home !== null) return join(home, 'Library', 'Caches')
  if (XDG_CACHE_HOME) return resolve(XDG_CACHE_HOME)
  return home === null ? null : join(home, '.cache')
}
