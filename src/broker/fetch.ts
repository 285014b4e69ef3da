/** Getting programs into the cache folder: a pinned release by its SHA-256, or a Debian package unpacked but not installed. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { RlError } from '../errors.ts'

const run = promisify(execFile)

/** SHA-256 of nats-server-v<version>-<platform>.tar.gz, as its maintainers' container build pins them. */
const NATS_SERVER = {
  version: '2.11.6',
  sha256: {
    'linux-amd64': '5e5272dd1bdb8da020aedc8cf883fb26c128441809a992f156e0b1ccb28ac5b7',
    'linux-arm64': '4fe3c40bddc58e31012f55865df0dcd24012995d2893a4d64a0ae5cb147d7a36',
  } as Readonly<Record<string, string>>,
}

const CONNECT_MS = 5_000
const COMMAND_MS = 120_000

/** Downloads the pinned nats-server to `target`. Fails at once where GitHub cannot be reached. */
export async function downloadNatsServer(target: string): Promise<void> {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  const expected = NATS_SERVER.sha256[platform]
  if (expected === undefined)
    throw new RlError(`there is no pinned release for ${platform}`, { code: 'setup.no-release' })
  const name = `nats-server-v${NATS_SERVER.version}-${platform}`
  const archive = await download(
    `https://github.com/nats-io/nats-server/releases/download/v${NATS_SERVER.version}/${name}.tar.gz`,
  )
  const got = createHash('sha256').update(archive).digest('hex')
  if (got !== expected)
    throw new RlError(`${name}.tar.gz has SHA-256 ${got}, expected ${expected}`, { code: 'setup.bad-digest' })
  await inTemporaryFolder(async (folder) => {
    writeFileSync(join(folder, 'archive.tar.gz'), archive)
    await run('tar', ['-xzf', 'archive.tar.gz'], { cwd: folder, timeout: COMMAND_MS })
    copyInto(join(folder, name, 'nats-server'), target, 0o755)
  })
}

async function download(url: string): Promise<Buffer> {
  const abort = new AbortController()
  const slow = setTimeout(() => abort.abort(), CONNECT_MS)
  try {
    const response = await fetch(url, { signal: abort.signal })
    if (!response.ok) throw new RlError(`${url} answered ${response.status}`, { code: 'setup.unreachable' })
    clearTimeout(slow)
    return Buffer.from(await response.arrayBuffer())
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw new RlError(`${new URL(url).host} cannot be reached`, { code: 'setup.unreachable', cause })
  } finally {
    clearTimeout(slow)
  }
}

/**
 * Downloads Debian packages and unpacks them into a temporary folder for `use`; the system is not changed. Where the
 * system has no package lists, they are fetched into that folder too.
 */
export async function unpackDebianPackages(
  packages: readonly string[],
  use: (root: string) => void,
): Promise<void> {
  await inTemporaryFolder(async (folder) => {
    const root = join(folder, 'root')
    for (const part of ['lists/partial', 'cache/archives/partial', 'root'])
      mkdirSync(join(folder, part), { recursive: true })
    const own = [
      '-o',
      `Dir::State::lists=${join(folder, 'lists')}`,
      '-o',
      `Dir::Cache=${join(folder, 'cache')}`,
    ]
    const options = { cwd: folder, timeout: COMMAND_MS }
    try {
      await run('apt-get', ['download', ...packages], options).catch(async () => {
        await run('apt-get', [...own, 'update'], options)
        await run('apt-get', [...own, 'download', ...packages], options)
      })
      for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb')))
        await run('dpkg', ['-x', file, root], options)
    } catch (cause) {
      const { stderr = '', message } = cause as { stderr?: string; message: string }
      const reason = stderr.split('\n').find((line) => line.startsWith('E:')) ?? message.split('\n')[0]
      throw new RlError(`apt-get download ${packages.join(' ')}: ${reason}`, {
        code: 'setup.no-package',
        cause,
      })
    }
    use(root)
  })
}

/** Copies a file (following links) whole or not at all. */
export function copyInto(source: string, target: string, mode: number): void {
  mkdirSync(dirname(target), { recursive: true })
  const part = `${target}.${process.pid}.part`
  copyFileSync(source, part)
  chmodSync(part, mode)
  renameSync(part, target)
}

async function inTemporaryFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rl-setup-'))
  // apt drops its privileges to download when root calls it.
  chmodSync(folder, 0o755)
  try {
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
