/** Where programs are, and what installs one that is missing. */
import { accessSync, constants } from 'node:fs'
import { posix, win32 } from 'node:path'
import { type Machine, THIS_MACHINE } from './machine.ts'

/** Programs and libraries that npm does not carry. */
export type Tool = 'nats-server' | 'bubblewrap' | 'openblas' | 'chromium'

/** The packages of each package manager; what is absent there cannot be had from it. */
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

/** One command that installs the tool, or where to get it. */
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

/** Folders in which programs are looked for: those of PATH, and where servers are kept that are not on everybody's PATH. */
export function programFolders({ platform, env }: Machine = THIS_MACHINE): readonly string[] {
  const { delimiter } = platform === 'win32' ? win32 : posix
  const onPath = (env.PATH ?? env.Path ?? '').split(delimiter).filter((folder) => folder !== '')
  return platform === 'win32'
    ? onPath
    : [...onPath, '/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin']
}

/** The file of a program: Windows wants its suffix. */
export function programFile(name: string, { platform }: Machine = THIS_MACHINE): string {
  return platform === 'win32' ? `${name}.exe` : name
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
