/** Hosts on one machine: each has a network, process numbers, a host name and a folder of its own. One switch joins them. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { childOf } from './below.ts'

export type Host = {
  /** Address that the other hosts reach. */
  readonly address: string
  /** Its folder of runs. No other host sees it. */
  readonly runs: string
  /** Starts a command of this project there. Its output goes to `output`. */
  readonly start: (words: readonly string[], env?: NodeJS.ProcessEnv) => Started
  /** Takes its link away, or gives it back. */
  readonly link: (up: boolean) => void
  /** If true, frames from it and to it vanish, and its link stays up. */
  readonly hole: (isOpen: boolean) => void
  /** From now on connections from this host to that address end at this host itself. */
  readonly claim: (address: string) => void
}

export type Started = {
  readonly process: ChildProcess
  readonly output: () => string
  /** Its exit status, or null if a signal ended it. */
  readonly status: Promise<number | null>
  /** Number of the command's own process on this machine, or null before its start and after its end. */
  readonly pid: () => number | null
}

export type Network = {
  readonly hosts: readonly Host[]
  /** Starts a command beside the switch. It reaches every host. */
  readonly startAtSwitch: (words: readonly string[], env?: NodeJS.ProcessEnv) => Started
  /** Ends all that was started here. */
  readonly close: () => void
  readonly isClosed: () => boolean
}

/** All have it, as containers often do. */
const HOST_NAME = 'host'
const SUBNET = '10.203.0'
const SWITCH_NUMBER = 254

/** Returns why there can be no network of hosts here, or null. */
export function noNetwork(): string | null {
  if (process.platform !== 'linux') return 'network namespaces are Linux'
  if (process.getuid?.() !== 0) return 'network namespaces need root'
  const missing = ['ip', 'unshare'].filter((name) => spawnSync(name, ['--help']).error)
  return missing.length > 0 ? `there is no ${missing.join(', ')}` : null
}

let networks = 0

/**
 * Makes a network of hosts.
 * @param root folder for the hosts' folders
 * @throws Error with what `ip` says
 */
export function openNetwork(count: number, root: string): Network {
  const prefix = `rl-e2e-${process.pid}-${++networks}`
  const names = Array.from({ length: count }, (_, i) => `${prefix}-${i + 1}`)
  const hub = `${prefix}-0`
  const running = new Set<ChildProcess>()
  const start: Start = (name, words, env) => {
    const started = startIn(name, names.indexOf(name) + 1, words, env)
    running.add(started.process)
    started.process.once('close', () => running.delete(started.process))
    return started
  }
  let closed = false
  const close = () => {
    closed = true
    // The death of the outer process ends all that is inside.
    for (const child of running) child.kill('SIGKILL')
    for (const name of [...names, hub]) spawnSync('ip', ['netns', 'delete', name])
  }
  try {
    for (const name of [hub, ...names]) ip('netns', 'add', name)
    ip('-n', hub, 'link', 'add', 'switch', 'type', 'bridge')
    ip('-n', hub, 'address', 'add', `${SUBNET}.${SWITCH_NUMBER}/24`, 'dev', 'switch')
    for (const device of ['lo', 'switch']) ip('-n', hub, 'link', 'set', device, 'up')
    const hosts = names.map((name, i) => openHost(name, i + 1, hub, join(root, `host-${i + 1}`), start))
    return {
      hosts,
      startAtSwitch: (words, env = {}) => start(hub, words, env),
      close,
      isClosed: () => closed,
    }
  } catch (error) {
    close()
    throw error
  }
}

type Start = (name: string, words: readonly string[], env: NodeJS.ProcessEnv) => Started

function openHost(name: string, number: number, hub: string, runs: string, start: Start): Host {
  const address = `${SUBNET}.${number}`
  const port = `port${number}`
  ip('-n', hub, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'net', 'netns', name)
  ip('-n', hub, 'link', 'set', port, 'master', 'switch', 'up')
  ip('-n', name, 'address', 'add', `${address}/24`, 'dev', 'net')
  for (const device of ['lo', 'net']) ip('-n', name, 'link', 'set', device, 'up')
  mkdirSync(runs, { recursive: true })
  return {
    address,
    runs,
    start: (words, env = {}) => start(name, words, { RL_RUNS: runs, ...env }),
    link: (up) => ip('-n', hub, 'link', 'set', port, up ? 'up' : 'down'),
    hole: (isOpen) => ip('-n', hub, 'link', 'set', port, ...(isOpen ? ['nomaster'] : ['master', 'switch'])),
    claim(other) {
      // It must not tell other hosts that the address is here.
      ip('netns', 'exec', name, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore')
      ip('-n', name, 'address', 'add', `${other}/32`, 'dev', 'lo')
    },
  }
}

/** Process numbers that are used up at a host before the first. So no number of one host, or of a thread there, is one of another. */
const NUMBERS_APART = 300

function startIn(name: string, number: number, words: readonly string[], env: NodeJS.ProcessEnv): Started {
  const inside = ['unshare', '--pid', '--uts', '--mount-proc', '--kill-child', '--fork', 'sh', '-c']
  const used = `i=0; while [ $i -lt ${NUMBERS_APART * number} ]; do (:); i=$((i + 1)); done`
  const script = `hostname ${HOST_NAME}; ${used}; "$0" "$@"`
  const node = [process.execPath, 'bin/launch.mjs', ...words]
  const child = spawn('ip', ['netns', 'exec', name, ...inside, script, ...node], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // A Ctrl-C at the terminal is for the check, which then ends all of them itself.
    detached: true,
    env: { ...process.env, FORCE_COLOR: '0', ...env },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const status = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    process: child,
    output: () => output,
    status,
    pid() {
      const shell = child.pid === undefined ? null : childOf(child.pid)
      return shell === null ? null : childOf(shell)
    },
  }
}

function ip(...words: readonly string[]): void {
  const { status, stderr } = spawnSync('ip', words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${words.join(' ')}: ${stderr.trim()}`)
}
