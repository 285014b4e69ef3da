/**
 * Remembers the runs that this user began or took up on this machine. Modules that a log names are code. They run by
 * themselves for these runs alone, since a run folder may be a gift. The marks lie in the cache, so no folder can bring
 * one along.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runsFolder } from '../../broker/connection.ts'
import { withPresentNames } from '../../config/renamed.ts'
import { parseConfig } from '../../config.ts'
import { RlError } from '../../errors.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { findCache } from '../../package.ts'
import { makePrivateFolder } from '../../platform/files.ts'
import { withoutCredentials } from '../../secrets.ts'

type Log = Pick<LogReader, 'path' | 'run' | 'events' | 'hashAt'>

/** Marks that are looked through for runs that are gone. */
const MANY = 1_000

/** Notes that this user began the run. If there is no cache, the modules of the run are asked about each time. */
export function markOwn(log: Log): void {
  const mark = markOf(log)
  if (mark === null || existsSync(mark)) return
  try {
    makePrivateFolder(dirname(mark))
    forget(dirname(mark))
    writeFileSync(mark, `${dirname(log.path)}\n`, { mode: 0o600 })
  } catch {}
}

/** A fork is this user's own if its parent is. */
export function inheritOwn(parent: Log, child: Log): void {
  if (isOwn(parent)) markOwn(child)
}

/**
 * Refuses modules of a run that this user did not begin. Also refuses modules in the folder of a run, whoever began it.
 *
 * @param trust true if the user trusts them
 * @throws RlError `module.not-trusted` that names them
 */
export function checkModules(log: Log, trust: boolean): void {
  if (trust) return
  const named = [...log.events({ types: ['RunStarted'] })].flatMap(({ data }) => modulesIn(data.config))
  const refused = isOwn(log) ? named.filter(liesInRuns) : named
  if (refused.length === 0) return
  throw new RlError(
    `run '${log.run}' names code that is not run by looking at it: ${[...new Set(refused)].join(', ')}`,
    {
      code: 'module.not-trusted',
      hint: isOwn(log)
        ? 'it lies in the folder of a run; --trust runs it'
        : 'this user did not begin the run here; --trust runs it, rl log and rl status need none',
    },
  )
}

/**
 * Refuses to go on with a run that this user did not begin, if its config names servers, variables of the environment
 * or programs. A secret could be sent to such a server, and such a program runs with the user's rights. Also checks
 * modules.
 *
 * @param trust true if the user trusts them
 * @throws RlError `module.not-trusted` that names keys and values
 */
export function checkActing(log: Log, trust: boolean): void {
  checkModules(log, trust)
  if (trust || isOwn(log)) return
  const usual = parseConfig({})
  const named = [...log.events({ types: ['RunStarted'] })].flatMap(({ data }) =>
    reachesIn(withPresentNames(structuredClone(data.config)), usual),
  )
  if (named.length === 0) return
  throw new RlError(
    `run '${log.run}' names servers, variables or programs of its own: ${[...new Set(named)].join(', ')}`,
    {
      code: 'module.not-trusted',
      hint: 'this user did not begin the run here; --trust uses them, rl log and rl status need none',
    },
  )
}

function isOwn(log: Log): boolean {
  const mark = markOf(log)
  return mark !== null && existsSync(mark)
}

/**
 * Returns the file of a log's mark. It depends on the user, since a checkout may be shared. It also depends on the
 * folder and the first event: another log in the same place is another run.
 */
function markOf({ path, hashAt }: Log): string | null {
  const cache = findCache()
  if (cache === null) return null
  const place = createHash('sha256')
    .update(`${realpathSync(dirname(path))}\n${hashAt(1)}`)
    .digest('hex')
  return join(cache, 'own-runs', String(process.getuid?.() ?? 'user'), place)
}

function forget(folder: string): void {
  const marks = readdirSync(folder)
  if (marks.length < MANY) return
  for (const name of marks) {
    const mark = join(folder, name)
    if (!existsSync(readFileSync(mark, 'utf8').trim())) rmSync(mark, { force: true })
  }
}

/** Values of all keys of a config that name modules, in whatever section. */
function modulesIn(values: unknown): string[] {
  if (typeof values !== 'object' || values === null) return []
  return Object.entries(values).flatMap(([key, value]) =>
    /modules?$/i.test(key)
      ? [value].flat().filter((name): name is string => typeof name === 'string')
      : modulesIn(value),
  )
}

/** Keys of servers, of variables that hold secrets, and of programs. */
const REACHES =
  /^(?:baseUrl|url|servers|replicas|apiKeyEnv|browser|python|command|program|notify|taskServers|tokenEnv|secrets)$/i
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i

/**
 * Texts of a config that are addresses or stand under such a key, and are not the usual ones. Each is `key "value"`,
 * without user and password.
 */
function reachesIn(value: unknown, usual: unknown, path: readonly string[] = []): string[] {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, inner]) =>
      reachesIn(inner, memberOf(usual, key), [...path, key]),
    )
  // A key that lets tasks name programs is true or false.
  if ((typeof value !== 'string' && value !== true) || value === usual) return []
  if (value === true && path.at(-1) !== 'taskServers') return []
  if (!ADDRESS.test(String(value)) && !path.some((key) => REACHES.test(key))) return []
  return [`${path.join('.')} ${JSON.stringify(withoutCredentials(String(value)))}`]
}

function memberOf(values: unknown, key: string): unknown {
  return typeof values === 'object' && values !== null ? Reflect.get(values, key) : undefined
}

/**
 * Returns true if a module lies in a folder of the folder of runs. Such a folder is a run's, or came along with one.
 */
function liesInRuns(name: string): boolean {
  if (!/^(?:\.|file:)/.test(name) && !isAbsolute(name)) return false
  const file = name.startsWith('file:') ? fileURLToPath(name) : resolve(name)
  const way = relative(realOf(runsFolder()), realOf(file))
  return way.includes(sep) && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

function realOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : resolve(path)
}
