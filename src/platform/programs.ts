/** Finds programs, and names the command that installs a missing one. */
import { accessSync, constants } from 'node:fs'
import { posix, win32 } from 'node:path'
import { type Machine, THIS_MACHINE } from './machine.ts'

/** Programs and libraries that npm does not carry. */
export type Tool = 'nats-server' | 'bubblewrap' | 'openblas' | 'chromium'

/** The packages of each package manager. A tool that is absent here cannot be installed with that manager. */
const MANAGERS: readonly {
  readonly program: string
  readonly install: string
  readonly packages: Readonly<Partial<Record<Tool, string>>>
}[] = [
  {
    program: '/usr/bin/apt-get',
    install: 'sudo apt-get install -y',
    packages: {
      'nats-server': 'nats-server',
      bubblewrap: 'bubblewrap',
      openblas: 'libopenblas0-pthread',
      chromium: 'chromium-headless-shell fonts-liberation',
    },
  },
  {
    program: '/sbin/apk',
    install: 'apk add',
    packages: {
      'nats-server': 'nats-server',
      bubblewrap: 'bubblewrap',
      openblas: 'openblas',
      chromium: 'chromium font-liberation',
    },
  },
  {
    program: '/usr/bin/dnf',
    install: 'sudo dnf install -y',
    packages: {
      bubblewrap: 'bubblewrap',
      openblas: 'openblas',
      chromium: 'chromium-headless liberation-fonts',
    },
  },
]

/**
 * Returns one command that installs the tool, or the place to get it.
 *
 * @example installHint('bubblewrap') // 'run: sudo apt-get install -y bubblewrap' on Debian
 */
export function installHint(tool: Tool, machine: Machine = THIS_MACHINE): string {
  if (machine.platform === 'win32' && tool === 'nats-server') return 'run: scoop install nats-server'
  if (machine.platform === 'darwin' && tool === 'nats-server') return 'run: brew install nats-server'
  for (const { program, install, packages } of MANAGERS) {
    const name = packages[tool]
    if (name !== undefined && machine.platform === 'linux' && machine.exists(program))
      return `run: ${install} ${name}`
  }
  return tool === 'nats-server'
    ? 'get it from https://github.com/nats-io/nats-server/releases and put it on the PATH'
    : `there is no ${tool} for ${machine.platform}`
}

/**
 * Folders in which programs are looked for: those of PATH, and usual places of servers that are not on every
 * PATH.
 *
 * @example const candidates = programFolders().map((folder) => join(folder, programFile('git')))
 */
export function programFolders({ platform, env }: Machine = THIS_MACHINE): readonly string[] {
  const { delimiter } = platform === 'win32' ? win32 : posix
  const onPath = (env.PATH ?? env.Path ?? '').split(delimiter).filter((folder) => folder !== '')
  return platform === 'win32'
    ? onPath
    : [...onPath, '/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin']
}

/**
 * Returns the file name of a program. Windows needs a suffix.
 *
 * @example programFile('git') // 'git', or 'git.exe' on Windows
 */
export function programFile(name: string, { platform }: Machine = THIS_MACHINE): string {
  return platform === 'win32' ? `${name}.exe` : name
}

/**
 * Whether the file exists and may be executed.
 *
 * @example isProgram('/bin/sh') // true
 */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
