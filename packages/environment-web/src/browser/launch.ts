/**
 * Starts a browser: in bubblewrap with its own namespaces and no network, if bubblewrap works, else by
 * itself.
 */

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdtempSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { isProgram, programFolders } from 'rlanything/kit'
import { type Connection, connect, type ProtocolEvent } from './cdp.ts'

/** Most data of one process. A page that takes memory without end then crashes alone, and not the machine. */
const MEMORY_KB = 2 * 1024 * 1024
/** JavaScript's heap of one page. */
const HEAP_MB = 512

export type Browser = {
  readonly connection: Connection
  readonly pid: number
  readonly isOpen: () => boolean
  /** Ends all its processes. */
  readonly end: () => Promise<void>
}

export type Fence = {
  /** bubblewrap, or null: then the browser runs by itself. */
  readonly bwrap: string | null
  /** Description for people. */
  readonly detail: string
}

/** Returns how browsers are started on this machine. */
export function findFence(): Fence {
  const bwrap = programFolders()
    .map((folder) => join(folder, 'bwrap'))
    .find(isProgram)
  if (process.platform !== 'linux')
    return { bwrap: null, detail: 'no bubblewrap on this system: the browser runs by itself' }
  if (!bwrap) return { bwrap: null, detail: 'bwrap is not installed: the browser runs by itself' }
  const tried = spawnSync(bwrap, ['--unshare-all', '--ro-bind', '/', '/', 'true'], { timeout: 10_000 })
  if (tried.status === 0) return { bwrap, detail: 'in bwrap, no network' }
  const why = tried.stderr?.toString().trim().split('\n').at(-1) ?? 'it does not start'
  return {
    bwrap: null,
    detail: `bwrap does not work here (${why.slice(0, 200)}): the browser runs by itself`,
  }
}

const FLAGS = [
  '--headless',
  '--remote-debugging-pipe',
  '--disable-gpu',
  '--disable-extensions',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-sync',
  '--disable-breakpad',
  '--disable-crash-reporter',
  '--disable-dev-shm-usage',
  '--disable-renderer-backgrounding',
  '--disable-backgrounding-occluded-windows',
  '--disable-background-timer-throttling',
  '--disable-features=Translate,MediaRouter,OptimizationHints,BackForwardCache,PaintHolding',
  '--force-color-profile=srgb',
  '--force-device-scale-factor=1',
  '--hide-scrollbars',
  // Scrolling takes effect at once, not after some frames of the screen.
  '--disable-smooth-scrolling',
  '--mute-audio',
  '--no-first-run',
  '--no-default-browser-check',
  '--lang=en-US',
  '--renderer-process-limit=8',
  '--window-size=500,500',
  `--js-flags=--max-old-space-size=${HEAP_MB}`,
  '--host-resolver-rules=MAP * ~NOTFOUND',
  // Connections other than page requests (sockets, calls between browsers) find nobody either.
  '--proxy-server=http://127.0.0.1:9',
  '--proxy-bypass-list=<-loopback>',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
]

/** A program and its arguments. */
type Words = readonly [program: string, ...rest: string[]]

/** Starts the browser. Resolves when the process runs. The first call finds out whether it answers. */
export function launch(program: string, { bwrap }: Fence, onEvent: (event: ProtocolEvent) => void): Browser {
  const profile = bwrap === null ? mkdtempSync(join(tmpdir(), 'rl-web-')) : '/tmp/profile'
  // Chromium's own sandbox needs rights that our sandbox does not give, and is refused to root.
  const unsandboxed = bwrap !== null || process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const flags = [...FLAGS, ...unsandboxed, `--user-data-dir=${profile}`]
  const words: Words =
    bwrap === null ? [program, ...flags] : [bwrap, ...fenceArguments(program), program, ...flags]
  const [file, ...rest]: Words =
    process.platform === 'win32'
      ? words
      : ['/bin/sh', '-c', `ulimit -d ${MEMORY_KB}; ulimit -c 0; exec "$@"`, 'sh', ...words]
  const child = spawn(file, rest, {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    env: {
      PATH: '/usr/bin:/bin',
      HOME: bwrap === null ? profile : '/tmp',
      TZ: 'UTC',
      LANG: 'en_US.UTF-8',
      LC_ALL: 'C.UTF-8',
    },
    detached: process.platform !== 'win32',
  })
  let open = true
  // A browser that cannot be spoken to is of no use to anybody.
  const connection = connect(child.stdio[3] as Writable, child.stdio[4] as Readable, onEvent, () => {
    kill()
    open = false
  })
  const ended = new Promise<void>((resolve) => {
    const over = (why: string) => {
      open = false
      connection.close(why)
      forget(kill)
      if (bwrap === null) rmSync(profile, { recursive: true, force: true, maxRetries: 3 })
      resolve()
    }
    child.on('error', (error) => over(error.message))
    child.on('exit', (status, signal) => over(`it ended with ${signal ?? status}`))
  })
  // bwrap dies with its parent and ends all in its namespace. A browser by itself ends when its pipe closes.
  const kill = () => {
    try {
      if (child.pid !== undefined && open)
        process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL')
    } catch {
      // It has just ended.
    }
  }
  remember(kill)
  return {
    connection,
    pid: child.pid ?? 0,
    isOpen: () => open,
    end() {
      kill()
      return ended
    },
  }
}

const atExit = new Set<() => void>()
const killAll = () => {
  for (const kill of atExit) kill()
}
function remember(kill: () => void): void {
  if (atExit.size === 0) process.on('exit', killAll)
  atExit.add(kill)
}
function forget(kill: () => void): void {
  atExit.delete(kill)
  if (atExit.size === 0) process.off('exit', killAll)
}

/** All namespaces of its own, of the system only programs, libraries and fonts, read only. */
function fenceArguments(program: string): string[] {
  const folders = [
    '/usr',
    '/opt',
    '/etc/fonts',
    '/etc/alternatives',
    '/etc/chromium',
    '/etc/chromium.d',
    '/etc/ssl',
    '/nix',
  ]
  const own = dirname(realpathSync(program))
  const shown = [...folders.filter((folder) => existsSync(folder))]
  if (!shown.some((folder) => own === folder || own.startsWith(`${folder}/`))) shown.push(own)
  const links = ['/bin', '/sbin', '/lib', '/lib32', '/lib64'].flatMap((path) => {
    if (!existsSync(path)) return []
    return lstatSync(path).isSymbolicLink()
      ? ['--symlink', readlinkSync(path), path]
      : ['--ro-bind', path, path]
  })
  return [
    ...['--unshare-all', '--die-with-parent', '--new-session', '--hostname', 'page', '--clearenv'],
    ...['--setenv', 'HOME', '/tmp', '--setenv', 'PATH', '/usr/bin:/bin', '--setenv', 'TZ', 'UTC'],
    ...['--setenv', 'LANG', 'en_US.UTF-8', '--setenv', 'LC_ALL', 'C.UTF-8'],
    ...shown.flatMap((folder) => ['--ro-bind', folder, folder]),
    ...links,
    ...[
      '--proc',
      '/proc',
      '--dev',
      '/dev',
      '--tmpfs',
      '/tmp',
      '--tmpfs',
      '/dev/shm',
      '--chdir',
      '/tmp',
      '--',
    ],
  ]
}
