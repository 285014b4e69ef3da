/** Hosts on one machine: each has a network, process numbers, a host name and a folder of its own. One switch joins them. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

export type Host = {
  /** Address that the other hosts reach. */
  readonly address: string
  /** Its folder of runs. No other host sees it. */
  readonly runs: string
  /** Starts a command of this project there. Its output goes to `output`. */
  readonly start: (words: readonly string[]) => Started
  /** Takes its link away, or gives it back. */
  readonly link: (up: boolean) => void
}

export type Started = {
  readonly process: ChildProcess
  readonly output: () => string
  /** Its exit status, or null if a signal ended it. */
  readonly status: Promise<number | null>
}

export type Network = { readonly hosts: readonly Host[]; readonly close: () => void }

/** All have it, as containers often do. */
const HOST_NAME = 'host'
const SUBNET = '10.203.0'

/** Returns why there can be no network of hosts here, or null. */
export function noNetwork(): string | null {
  if (process.platform !== 'linux') return 'network namespaces are Linux'
  if (process.getuid?.() !== 0) return 'network namespaces need root'
  const missing = ['ip', 'unshare'].filter((name) => spawnSync(name, ['--help']).error)
  return missing.length > 0 ? `there is no ${missing.join(', ')}` : null
}

/**
 * Makes a network of hosts.
 * @param root folder for the hosts' folders
 * @throws Error with what `ip` says
 */
export function openNetwork(count: number, root: string): Network {
  const prefix = `rl-e2e-${process.pid}`
  const names = Array.from({ length: count }, (_, i) => `${prefix}-${i + 1}`)
  const hub = `${prefix}-0`
  const close = () => {
    for (const name of [...names, hub]) spawnSync('ip', ['netns', 'delete', name])
  }
  try {
    for (const name of [hub, ...names]) ip('netns', 'add', name)
    ip('-n', hub, 'link', 'add', 'switch', 'type', 'bridge')
    ip('-n', hub, 'link', 'set', 'switch', 'up')
    return { hosts: names.map((name, i) => openHost(name, i + 1, hub, join(root, `host-${i + 1}`))), close }
  } catch (error) {
    close()
    throw error
  }
}

function openHost(name: string, number: number, hub: string, runs: string): Host {
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
    start(words) {
      const inside = ['unshare', '--pid', '--uts', '--mount-proc', '--kill-child', '--fork', 'sh', '-c']
      const script = `hostname ${HOST_NAME}; exec "$0" "$@"`
      const node = [process.execPath, 'bin/launch.mjs', ...words]
      const child = spawn('ip', ['netns', 'exec', name, ...inside, script, ...node], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, RL_RUNS: runs, FORCE_COLOR: '0' },
      })
      let output = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
      const status = new Promise<number | null>((resolve) => child.once('close', resolve))
      return { process: child, output: () => output, status }
    },
    link: (up) => ip('-n', hub, 'link', 'set', port, up ? 'up' : 'down'),
  }
}

function ip(...words: readonly string[]): void {
  const { status, stderr } = spawnSync('ip', words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${words.join(' ')}: ${stderr.trim()}`)
}
