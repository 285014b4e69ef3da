/**
 * The sandbox of one desktop: a bubblewrap without network, and the agent in it. Its files are in memory and
 * end with it.
 */

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { createControlGroup, isProgram, itemAt, programFolders, RlError } from 'rlanything/kit'
import type { ScreenSize } from '../screen/action.ts'
import { FILES } from './files.ts'

const AGENT = fileURLToPath(new URL('./desktop_agent.mjs', import.meta.url))
const START_MS = 30_000
/** Time beside that of an operation itself. */
const GRACE_MS = 10_000
/**
 * Descriptor of the first of `FILES` in bwrap: after the three standard ones and the one for the child's
 * number.
 */
const FIRST_FILE = 4
const HOME_MB = 512
/** Home folder of the user on a desktop. */
export const HOME = '/home/user'
/**
 * Memory limit of all programs of a desktop with their files in memory, if control groups can be had. It also
 * limits each program by itself.
 */
const MEMORY_MB = 2048
/** Limit of processes and threads of a desktop, if control groups can be had. Chromium takes some 150. */
const PROCESSES = 1024

let opened = 0

/** Parts of a desktop, and the Debian packages that have them. */
const PARTS: Readonly<Record<string, string>> = {
  bwrap: 'bubblewrap',
  Xvfb: 'xvfb',
  openbox: 'openbox',
  'dbus-daemon': 'dbus',
  '/usr/libexec/at-spi-bus-launcher': 'at-spi2-core',
}

/** Folders with programs of a desktop. */
const PATH = ['/opt/rl/bin', '/usr/bin', '/bin', '/usr/games']
/** The file behind each name in the first of these folders. */
const STANDS_FOR: ReadonlyMap<string, string> = new Map([
  ['chromium', '/usr/bin/chromium'],
  ['google-chrome', '/usr/bin/chromium'],
  ['libreoffice', '/usr/lib/libreoffice/program/soffice'],
  ['soffice', '/usr/lib/libreoffice/program/soffice'],
  ['python', '/usr/bin/python3'],
])

/** Whether a program of this name can be started on a desktop of this machine. */
export function isOnDesktops(name: string): boolean {
  const file = STANDS_FOR.get(name)
  return file === undefined ? PATH.some((folder) => isProgram(`${folder}/${name}`)) : isProgram(file)
}

/** Returns the path of a program, or null. */
export function programPath(name: string): string | null {
  const candidates = name.startsWith('/') ? [name] : programFolders().map((folder) => `${folder}/${name}`)
  return candidates.find(isProgram) ?? null
}

/** Debian packages that desktops need and that are not here. */
export function missingParts(): readonly string[] {
  return Object.entries(PARTS).flatMap(([program, name]) => (programPath(program) ? [] : [name]))
}

export type Sandbox = {
  /** Number of a process in the sandbox, as this machine counts. Its files are in `/proc/<pid>/root`. */
  readonly pid: number
  /**
   * Asks the agent. Rejects with `desktop.died` if the desktop has ended, with `desktop.refused` if it
   * refuses.
   */
  readonly ask: (
    operation: string,
    values: Readonly<Record<string, unknown>>,
    timeoutMs?: number,
  ) => Promise<Readonly<Record<string, unknown>>>
  /** Reason why the desktop is gone, or null. */
  readonly fault: () => string | null
  /** Ends of launched programs by number: 0, another status, or a signal's name. */
  readonly exits: ReadonlyMap<number, number | string>
  readonly end: () => Promise<void>
}

export async function openSandbox({ width, height }: ScreenSize): Promise<Sandbox> {
  const missing = missingParts()
  if (missing.length > 0)
    throw new RlError(`a desktop needs ${missing.join(', ')}`, {
      code: 'desktop.missing',
      hint: `run: sudo apt-get install -y ${missing.join(' ')}`,
    })
  const group = createControlGroup('desktop', opened++)
  const child = spawn(
    '/bin/sh',
    [
      ...[
        '-c',
        `ulimit -d ${MEMORY_MB * 1024}; ulimit -c 0; exec "$@"`,
        'sh',
        programPath('bwrap') as string,
      ],
      ...[...sandboxArguments(), String(width), String(height)],
    ],
    {
      env: {},
      cwd: '/',
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', ...FILES.map(() => 'pipe' as const)],
    },
  )
  const [stdin, stdout, stderr, info, ...files] = child.stdio as unknown as [
    Writable,
    Readable,
    Readable,
    Readable,
    ...Writable[],
  ]
  for (const [i, file] of files.entries()) {
    file.on('error', () => {})
    file.end(itemAt(FILES, i).text)
  }
  let fault: string | null = null
  let errors = ''
  let next = 1
  const exits = new Map<number, number | string>()
  const waiting = new Map<
    number,
    { readonly done: (answer: Record<string, unknown>) => void; readonly fail: (error: RlError) => void }
  >()
  const died = (why: string) => {
    fault ??= why
    child.kill('SIGKILL')
    for (const { fail } of waiting.values()) fail(faultError(fault))
    waiting.clear()
    ready.fail(faultError(fault))
  }
  const ready = settled()
  const closed = new Promise<void>((resolve) => {
    child.on('close', () => {
      died(`the sandbox ended. ${errors.trim()}`.trim())
      void (group?.remove() ?? Promise.resolve()).then(resolve)
    })
  })
  child.on('error', (cause) => died(`the sandbox cannot be started: ${cause.message}`))
  stdin.on('error', () => {})
  stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-1000)
  })
  createInterface({ input: stdout }).on('line', (line) => {
    const message = parsed(line)
    if (message === null) return died('its agent says what is no JSON')
    if (message.ready) ready.done()
    else if (typeof message.died === 'string') died(`${message.died} ${message.why}`)
    else if (typeof message.exited === 'number') exits.set(message.exited, message.status as number | string)
    else {
      const { id, failed, ...answer } = message
      const asked = waiting.get(Number(id))
      waiting.delete(Number(id))
      if (typeof failed === 'string') asked?.fail(new RlError(failed, { code: 'desktop.refused' }))
      else asked?.done(answer)
    }
  })
  const late = setTimeout(() => died(`was not ready in ${START_MS / 1000} s`), START_MS)
  try {
    const pid = await childPid(info)
    // Nothing of a task runs yet. The processes that the agent has started so far join the group.
    group?.enter(child.pid as number, { memoryMB: MEMORY_MB, processes: PROCESSES })
    await ready.promise
    return {
      pid,
      ask(operation, values, timeoutMs = 30_000) {
        if (fault !== null) return Promise.reject(faultError(fault))
        const id = next++
        return new Promise((resolve, reject) => {
          const timer = setTimeout(() => died(`did not answer '${operation}'`), timeoutMs + GRACE_MS)
          waiting.set(id, {
            done: (answer) => {
              clearTimeout(timer)
              resolve(answer)
            },
            fail: (error) => {
              clearTimeout(timer)
              reject(error)
            },
          })
          stdin.write(lineOf({ id, operation, ...values, timeoutMs }))
        })
      },
      fault: () => fault,
      exits,
      async end() {
        child.kill('SIGKILL')
        await closed
      },
    }
  } catch (cause) {
    child.kill('SIGKILL')
    await closed
    throw cause
  } finally {
    clearTimeout(late)
  }
}

export function faultError(why: string): RlError {
  return new RlError(`the desktop is gone: ${why}`, { code: 'desktop.died' })
}

function settled() {
  let done = () => {}
  let fail: (error: RlError) => void = () => {}
  const promise = new Promise<void>((resolve, reject) => {
    done = resolve
    fail = reject
  })
  promise.catch(() => {})
  return { promise, done: () => done(), fail: (error: RlError) => fail(error) }
}

/** Readers of lines take U+2028 and U+2029 for ends of lines as well. */
function lineOf(value: object): string {
  const ends = /[\u2028\u2029]/g
  return `${JSON.stringify(value).replace(ends, (end) => `\\u${end.charCodeAt(0).toString(16)}`)}\n`
}

function parsed(line: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(line)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

/** bwrap tells the process that it started once it is there. */
async function childPid(info: Readable): Promise<number> {
  let text = ''
  for await (const chunk of info) {
    text += chunk
    if (text.includes('}')) break
  }
  const pid = Number(/"child-pid":\s*(\d+)/.exec(text)?.[1])
  if (!Number.isSafeInteger(pid)) throw faultError('bwrap did not tell its child')
  return pid
}

/** Folders of /etc that programs read. None tells anything about this machine's owner. */
const CONFIGURATION = [
  ...['alternatives', 'fonts', 'X11', 'xdg', 'dbus-1', 'gtk-2.0', 'gtk-3.0', 'libreoffice', 'chromium'],
  ...[
    'chromium.d',
    'ld.so.cache',
    'ld.so.conf',
    'ld.so.conf.d',
    'mime.types',
    'java-11-openjdk',
    'java-17-openjdk',
  ],
]

function sandboxArguments(): string[] {
  const shown = [
    ...['/usr', '/var/cache/fontconfig', '/var/lib/libreoffice'],
    ...CONFIGURATION.map((name) => `/etc/${name}`),
  ].filter((path) => existsSync(path))
  return [
    ...['--unshare-all', '--uid', '1000', '--gid', '1000', '--cap-drop', 'ALL', '--hostname', 'desktop'],
    ...['--die-with-parent', '--new-session', '--info-fd', '3'],
    ...shown.flatMap((path) => ['--ro-bind', path, path]),
    ...['bin', 'sbin', 'lib', 'lib64'].flatMap((name) =>
      existsSync(`/usr/${name}`) ? ['--symlink', `usr/${name}`, `/${name}`] : [],
    ),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...['/tmp', '/run/user', '/run/fb', '/var/tmp', '/dev/shm', '/home/user'].flatMap((path) => [
      ...['--size', String(HOME_MB * 2 ** 20), '--perms', '0700', '--tmpfs', path],
    ]),
    ...['--perms', '0755', '--dir', '/opt/rl/bin'],
    ...['--ro-bind', process.execPath, '/opt/rl/node', '--ro-bind', AGENT, '/opt/rl/desktop_agent.mjs'],
    ...FILES.flatMap(({ path, mode }, i) => [
      ...['--perms', mode ?? '0644', path.startsWith('/home') ? '--file' : '--ro-bind-data'],
      ...[String(FIRST_FILE + i), path],
    ]),
    ...['--symlink', '/usr/bin/python3', '/opt/rl/bin/python'],
    ...environment(),
    ...[
      '--chdir',
      '/home/user',
      '--',
      '/opt/rl/node',
      '--max-old-space-size=512',
      '/opt/rl/desktop_agent.mjs',
    ],
  ]
}

function environment(): string[] {
  return Object.entries({
    PATH: PATH.join(':'),
    HOME,
    USER: 'user',
    LOGNAME: 'user',
    SHELL: '/bin/bash',
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    XDG_RUNTIME_DIR: '/run/user',
    GDK_BACKEND: 'x11',
    GTK_OVERLAY_SCROLLING: '0',
    GSETTINGS_BACKEND: 'memory',
    GIO_USE_VFS: 'local',
    SAL_USE_VCLPLUGIN: 'gtk3',
    PYTHONDONTWRITEBYTECODE: '1',
  }).flatMap(([name, value]) => ['--setenv', name, value])
}
