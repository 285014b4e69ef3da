/**
 * Programs of others whose standard streams we read. Such a program ends with this process, however this
 * process ends, and takes its children along.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { isProgram, programFolders } from './programs.ts'

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
  /** Ends the program and its children. Resolves when it has ended. */
  readonly end: () => Promise<void>
}

let fence: readonly string[] | null = null

/** A process namespace of its own, if bubblewrap works: a child that leaves its group ends too. */
function fenceWords(): readonly string[] {
  if (fence) return fence
  const bwrap = programFolders()
    .map((folder) => `${folder}/bwrap`)
    .find(isProgram)
  const words = ['--dev-bind', '/', '/', '--unshare-pid', '--proc', '/proc', '--die-with-parent', '--']
  const works =
    process.platform === 'linux' &&
    bwrap !== undefined &&
    spawnSync(bwrap, [...words, 'true'], { timeout: 10_000 }).status === 0
  fence = works ? [bwrap, ...words] : []
  return fence
}

/** @param env all variables of the program; it gets no others */
export function spawnGuardedChild(
  command: readonly string[],
  { env, cwd }: { readonly env: NodeJS.ProcessEnv; readonly cwd?: string },
): GuardedChild {
  const isWindows = process.platform === 'win32'
  const words = isWindows ? [...command] : ['sh', '-c', GUARD, 'sh', ...fenceWords(), ...command]
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
  return {
    stdin,
    stdout,
    stderr,
    pid: child.pid,
    ended,
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
