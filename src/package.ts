/** This package: its files, and how to start its modules in a process or a thread. */

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ResourceLimits, Worker } from 'node:worker_threads'
import { RlError } from './errors.ts'

/** Whether these are the sources, from which Node strips the types, or the compiled files of `npm pack`. */
export const SOURCES = import.meta.url.endsWith('.ts')

/**
 * The folder with package.json, config/ and data/. src and dist are side by side in it, and have the same
 * layout.
 */
export const PACKAGE_ROOT = fileURLToPath(new URL('../', import.meta.url))

/**
 * Folder of what is kept between runs. In a checkout it is `.cache/`. For an installed package it is the
 * user's cache folder, which survives a reinstallation. Returns null if a package is installed and this user
 * has no home.
 */
export function findCache(): string | null {
  if (SOURCES) return join(PACKAGE_ROOT, '.cache/')
  const folder = userCache()
  return folder === null ? null : join(folder, 'rlanything/')
}

/**
 * Returns a place in the cache. Call it only when it is needed: most commands need none.
 * @throws RlError `cache.no-home`
 */
export function cachePlace(...parts: readonly string[]): string {
  const cache = findCache()
  if (cache !== null) return join(cache, ...parts)
  throw noHome('there is no folder for data that is kept between runs')
}

/**
 * Returns the user's home folder.
 * @param what the need for it, for the message
 * @throws RlError `cache.no-home`
 */
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

/**
 * Returns null without HOME and without a line in /etc/passwd. Users of a container may have a number alone.
 */
function findHome(): string | null {
  try {
    const home = homedir()
    return isAbsolute(home) ? home : null
  } catch {
    return null
  }
}

/** Returns a named file: from the working directory, or else from the package (`config/default.yaml`). */
export function findFile(name: string): string {
  const own = join(PACKAGE_ROOT, name)
  return !existsSync(name) && existsSync(own) ? own : name
}

/**
 * Limits each heap's room for new objects to 48 MB. From Node 22 on it would be 96 MB, and a run is a dozen heaps. With
 * 48 MB, as in earlier versions, heaps are as fast.
 */
const YOUNG = '--max-semi-space-size=16'

/**
 * The words behind `node` that run a module of this package in a process of its own.
 * @param source the module as its source is called, `new URL('../main.ts', import.meta.url)`
 */
export function nodeWords(source: URL): readonly string[] {
  return [YOUNG, fileURLToPath(moduleUrl(source))]
}

/** Environment of a process that takes modules as V8 compiled them before: it has a third less to do, and 25 MB less. */
export function compileCache(): NodeJS.ProcessEnv {
  const cache = findCache()
  return cache === null ? {} : { NODE_COMPILE_CACHE: join(cache, 'compiled') }
}

/**
 * Starts a worker thread that runs a module of this package, named as for `nodeWords`.
 * @param resourceLimits of its heap. Left out: those of V8.
 */
export function startThread(source: URL, workerData: unknown, resourceLimits?: ResourceLimits): Worker {
  return new Worker(moduleUrl(source), { workerData, execArgv: [], resourceLimits })
}

/** Returns the version of this package. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')) as {
    version: string
  }
  return version
}

let code: string | undefined
let others: () => readonly string[] = () => []

/** Adds packages to the code that counts, by the addresses of their main modules. */
export function addCode(mainModules: () => readonly string[]): void {
  others = mainModules
  code = undefined
}

/**
 * Returns the SHA-256 (hex) of this package's code: its modules, those that bring settings, and its package.json. It is
 * equal for the same code, even in a checkout with changes.
 */
export function codeDigest(): string {
  if (code !== undefined) return code
  const hash = createHash('sha256').update(readFileSync(join(PACKAGE_ROOT, 'package.json')))
  const roots = [
    join(PACKAGE_ROOT, SOURCES ? 'src' : 'dist'),
    ...others().map((main) => dirname(realpathSync(fileURLToPath(main)))),
  ]
  for (const root of roots) {
    // Pages decide nothing: a change of one keeps every key frame.
    const modules = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
      (file) => /\.[jt]s$/.test(file) && !/^ui[\\/]/.test(file),
    )
    for (const file of modules.sort()) hash.update(`\n${file}\n`).update(readFileSync(join(root, file)))
  }
  code = hash.digest('hex')
  return code
}

export function moduleUrl(source: URL): URL {
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
