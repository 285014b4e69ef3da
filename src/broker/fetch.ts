/** Getting programs into the cache folder: a pinned release by its SHA-256, or a Debian package unpacked but not installed. */
import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
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
import { httpFetch, ProxyFailed } from '../platform/http.ts'
import { type Machine, THIS_MACHINE } from '../platform/machine.ts'
import { programFile } from '../platform/programs.ts'
import { makePublicFolder } from '../platform/public-folder.ts'

const run = promisify(execFile)

/** SHA-256 of the archives, from the release's SHA256SUMS. The binaries are static: they run with glibc and with musl. */
const NATS_SERVER = {
  version: '2.11.6',
  archives: {
    'linux-x64': ['linux-amd64.tar.gz', '5e5272dd1bdb8da020aedc8cf883fb26c128441809a992f156e0b1ccb28ac5b7'],
    'linux-arm64': ['linux-arm64.tar.gz', '4fe3c40bddc58e31012f55865df0dcd24012995d2893a4d64a0ae5cb147d7a36'],
    'darwin-x64': ['darwin-amd64.tar.gz', '6c8f0cf8bc879db372ce0edca34c0178845e92286fac47db1a6a0f5eff59daef'],
    'darwin-arm64': [
      'darwin-arm64.tar.gz',
      '1a78170526e18a41ca2a24e6eaa00e95d39c677e1d5bfc56d3f662a114324e17',
    ],
    'win32-x64': ['windows-amd64.zip', '947aea642cc2b7b688a11a71c36c80a030cabb109167246ca1f8fbf30dc1c83b'],
  } as Readonly<Record<string, readonly [suffix: string, sha256: string]>>,
}

export type Release = { readonly url: string; readonly sha256: string; readonly program: string }

/**
 * Returns the pinned nats-server of a machine, and the program's place in its archive. Returns null if none
 * is pinned.
 */
export function natsServerRelease(machine: Machine = THIS_MACHINE): Release | null {
  const found = NATS_SERVER.archives[`${machine.platform}-${machine.arch}`]
  if (found === undefined) return null
  const [suffix, sha256] = found
  const { version } = NATS_SERVER
  const name = `nats-server-v${version}-${suffix}`
  return {
    url: `https://github.com/nats-io/nats-server/releases/download/v${version}/${name}`,
    sha256,
    program: `${name.replace(/\.(tar\.gz|zip)$/, '')}/${programFile('nats-server', machine)}`,
  }
}

const CONNECT_MS = 5_000
const COMMAND_MS = 120_000

/** Downloads the pinned nats-server to `target`. Fails at once if GitHub cannot be reached. */
export async function downloadNatsServer(target: string, release = natsServerRelease()): Promise<void> {
  if (release === null)
    throw new RlError(`no nats-server is pinned for ${process.platform}-${process.arch}`, {
      code: 'setup.no-release',
    })
  const { url, sha256, program } = release
  const archive = await download(url)
  const got = createHash('sha256').update(archive).digest('hex')
  if (got !== sha256)
    throw new RlError(`${url} has SHA-256 ${got}, expected ${sha256}`, { code: 'setup.bad-digest' })
  await inTemporaryFolder(async (folder) => {
    writeFileSync(join(folder, 'archive'), archive)
    // Windows brings a tar that reads zip files too.
    await run('tar', ['-xf', 'archive'], { cwd: folder, timeout: COMMAND_MS })
    copyInto(join(folder, program), target, 0o755)
  })
}

async function download(url: string): Promise<Buffer> {
  const abort = new AbortController()
  const slow = setTimeout(() => abort.abort(), CONNECT_MS)
  try {
    const response = await httpFetch(url, { signal: abort.signal })
    if (!response.ok) throw new RlError(`${url} answered ${response.status}`, { code: 'setup.unreachable' })
    clearTimeout(slow)
    return Buffer.from(await response.arrayBuffer())
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    const why = cause instanceof ProxyFailed ? ` ${cause.message}` : ''
    throw new RlError(`${new URL(url).host} cannot be reached${why}`, { code: 'setup.unreachable', cause })
  } finally {
    clearTimeout(slow)
  }
}

/**
 * Downloads Debian packages and unpacks them into a temporary folder for `use`. The system does not change.
 * If the system has no package lists, they are fetched into that folder too.
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

/**
 * Copies a file (following links) whole or not at all, for all users to read. Of several copies at once the
 * last one stays.
 */
export function copyInto(source: string, target: string, mode: number): void {
  makePublicFolder(dirname(target))
  const part = `${target}.${randomUUID()}.part`
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
