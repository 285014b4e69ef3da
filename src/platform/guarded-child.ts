/**
 * Programs of others whose standard streams we read. Such a program ends with this process, however this
 * process ends, and takes its children along.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { type Dirent, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { dirname, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { RlError } from '../errors.ts'
import { installHint, isProgram, programFolders } from './programs.ts'

/**
 * Ends the process group when descriptor 3, a pipe from this process, is closed. The kernel closes it at a
 * SIGKILL too.
 */
const GUARD = `
( exec >/dev/null 2>&1; while read -r _ <&3; do :; done; kill -9 0 ) &
exec "$@" 3<&-
`

export type GuardedChild = {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  readonly pid: number | undefined
  /** Resolves to the reason once the program has ended, or could not be started. */
  readonly ended: Promise<string>
  /** Resolves to the reason once all that it wrote has been read too. */
  readonly closed: Promise<string>
  /** Ends the program and its children. Resolves when it has ended. */
  readonly end: () => Promise<void>
}

/** Most characters of what a program said last that an error tells. */
const LAST_WORDS = 1_000

/**
 * Reads streams of a program, so that it never waits for a reader. Returns a function that tells the end of them.
 *
 * @example const words = lastWords(child.stderr)
 */
export function lastWords(...streams: readonly Readable[]): () => string {
  let text = ''
  for (const stream of streams)
    stream.on('data', (part: Buffer) => {
      text = (text + part.subarray(-LAST_WORDS).toString('utf8')).slice(-LAST_WORDS)
    })
  return () => text.trim()
}

const FENCE = ['--dev-bind', '/', '/', '--unshare-pid', '--proc', '/proc', '--die-with-parent', '--']

/** Words that start a program in a sandbox, by what the sandbox does. Empty if bubblewrap does not work so. */
const tried = new Map<string, readonly string[]>()

function bwrapWords(words: readonly string[]): readonly string[] {
  const key = words.join(' ')
  const known = tried.get(key)
  if (known) return known
  const bwrap = programFolders()
    .map((folder) => `${folder}/bwrap`)
    .find(isProgram)
  const works =
    process.platform === 'linux' &&
    bwrap !== undefined &&
    spawnSync(bwrap, [...words, 'true'], { timeout: 10_000 }).status === 0
  const found = works ? [bwrap, ...words] : []
  tried.set(key, found)
  return found
}

type Spawning = {
  /** All variables of the program; it gets no others. */
  readonly env: NodeJS.ProcessEnv
  readonly cwd?: string
}

/** The program has a process namespace of its own, if bubblewrap works: a child that leaves its group ends too. */
export const spawnGuardedChild = (command: readonly string[], spawning: Spawning): GuardedChild =>
  spawnBehind(bwrapWords(FENCE), command, spawning)

/**
 * Starts a program that sees files and changes none. It has no network, and no socket below /run or in a folder of /tmp
 * that holds nothing else: a read-only folder would not keep it from those. Of the home folder it sees `cwd` and where
 * the program itself is installed. Its temporary files are its own.
 *
 * @throws RlError `program.sandbox` if bubblewrap does not work, or there is no such program
 */
export const spawnSealedChild = (
  command: readonly string[],
  { env, cwd }: Required<Spawning>,
): GuardedChild => {
  const words = requireSeal(command, cwd)
  const hidden = socketFolders().flatMap((folder) => ['--tmpfs', folder])
  return spawnBehind([...words.slice(0, -1), ...hidden, '--'], command, { env, cwd })
}

/** Folders that each sealed program has for itself, and empty. */
const OWN = ['/var/tmp', '/run']

/**
 * Returns the words that start the program so. The last one is `--`.
 *
 * @throws RlError `program.sandbox` if bubblewrap does not work, or there is no such program
 */
export function requireSeal([program = '']: readonly string[], cwd: string): readonly string[] {
  const found = fileOf(program)
  const homes = homeFolders()
  const mounts = [
    ...[...homes, ...OWN].map((folder) => ({ folder, words: ['--tmpfs', folder] })),
    ...[...(found === undefined ? [] : shownInHome(found, homes)), cwd]
      .filter((folder) => !OWN.includes(folder))
      .map((folder) => ({ folder, words: ['--ro-bind', folder, folder] })),
    // A later mount hides those below it, so a folder comes before all that it contains.
  ].toSorted((a, b) => a.folder.length - b.folder.length)
  const words = bwrapWords([
    ...['--ro-bind', '/', '/', ...mounts.flatMap((mount) => mount.words)],
    ...['--dev', '/dev', '--proc', '/proc', '--unshare-all', '--cap-drop', 'ALL', '--new-session'],
    ...['--die-with-parent', '--chdir', cwd, '--setenv', 'TMPDIR', '/var/tmp', '--'],
  ])
  if (words.length === 0)
    throw new RlError(`'${program}' needs a sandbox, and bubblewrap does not work here`, {
      code: 'program.sandbox',
      hint: installHint('bubblewrap'),
    })
  if (found === undefined)
    throw new RlError(`'${program}' is no program that can be started here`, {
      code: 'program.sandbox',
      hint: 'a command is a list: the program, then its words, e.g. ["python3", "check.py"]',
    })
  return words
}

const fileOf = (name: string): string | undefined =>
  (name.includes('/') ? [resolve(name)] : programFolders().map((folder) => `${folder}/${name}`)).find(
    isProgram,
  )

/** Returns the home folder that the environment names, and that of the user. A container may have neither. */
function homeFolders(): readonly string[] {
  const folders = [homedir, () => userInfo().homedir].flatMap((home) => {
    try {
      return [realpathSync(resolve('/', home()))]
    } catch {
      return [] // There is no such folder, or no such user.
    }
  })
  return [...new Set(folders)].filter((folder) => folder !== '/')
}

/**
 * Returns what is to be seen of home folders for a program to start: the folder above its `bin`, as it is named and as
 * each of its links leads. It is less if that is a home itself.
 */
function shownInHome(program: string, homes: readonly string[]): readonly string[] {
  const files = [program, realpathSync(program)]
  for (let at = program; lstatSync(at).isSymbolicLink() && files.length < 40; files.push(at))
    at = resolve(dirname(at), readlinkSync(at))
  return files.flatMap((file) => {
    const folder = dirname(file)
    const shown = [dirname(folder), folder, file].find((place) =>
      homes.some((home) => place.startsWith(`${home}/`)),
    )
    return shown === undefined ? [] : [shown]
  })
}

/** Returns the folders in /tmp that hold sockets alone, e.g. tmux's: who reaches one can start programs outside. */
function socketFolders(): readonly string[] {
  return entriesOf('/tmp')
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `/tmp/${name}`)
    .filter((folder) => {
      const entries = entriesOf(folder)
      return entries.length > 0 && entries.every((entry) => entry.isSocket())
    })
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return [] // It is gone, or another user's.
  }
}

function spawnBehind(
  fence: readonly string[],
  command: readonly string[],
  { env, cwd }: Spawning,
): GuardedChild {
  const isWindows = process.platform === 'win32'
  const words = isWindows ? [...command] : ['sh', '-c', GUARD, 'sh', ...fence, ...command]
  const [file = '', ...rest] = words
  const child = spawn(file, rest, {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    detached: !isWindows,
    windowsHide: true,
    env,
    cwd,
  })
  const [stdin, stdout, stderr, guard] = child.stdio as unknown as [Writable, Readable, Readable, Writable]
  for (const stream of [stdin, guard]) stream.on('error', () => {}) // It has ended.
  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(error.message))
    child.on('exit', (status, signal) => {
      killGroup(child)
      guard.end()
      resolve(`it ended with ${signal ?? `status ${status}`}`)
    })
  })
  const closed = new Promise<void>((resolve) => {
    child.on('error', () => resolve())
    child.on('close', () => resolve())
  })
  return {
    stdin,
    stdout,
    stderr,
    pid: child.pid,
    ended,
    closed: closed.then(() => ended),
    async end() {
      killGroup(child)
      await ended
    },
  }
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL')
  } catch {
    // All of it has ended.
  }
}
