/**
 * Finds programs and libraries that npm does not carry: on the PATH, in the project's cache folder, or by
 * set-up into it.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { explain, RlError } from '../errors.ts'
import { cachePlace, findCache } from '../package.ts'
import { libraryFolders, OPENBLAS_FILES } from '../platform/blas.ts'
import { THIS_MACHINE } from '../platform/machine.ts'
import { installHint, isProgram, programFile, programFolders } from '../platform/programs.ts'
import { copyInto, downloadNatsServer, unpackDebianPackages } from './fetch.ts'

const SERVER = programFile('nats-server')

export type Found = {
  readonly path: string
  /** `path`, `cache`, or how set-up just got it. */
  readonly from: string
}

export type FindOptions = {
  readonly cache?: string | null
  /** Folders to search before the cache. Default: those of PATH, and Debian's folders of servers. */
  readonly folders?: readonly string[]
  /** Called for each attempt of set-up. */
  readonly onStep?: (step: string) => void
}

/** Returns nats-server if it is there already, or null. Changes nothing. */
export function lookForNatsServer({
  cache = findCache(),
  folders = programFolders(),
}: FindOptions = {}): Found | null {
  const onPath = folders.map((folder) => join(folder, SERVER)).find(isProgram)
  if (onPath) return { path: onPath, from: 'path' }
  const cached = cache === null ? null : join(cache, 'bin', SERVER)
  return cached !== null && isProgram(cached) ? { path: cached, from: 'cache' } : null
}

/**
 * Returns nats-server. If it is missing, fetches it into the cache.
 * @throws RlError `broker.no-server` with the one command to run by hand
 */
export async function findNatsServer(options: FindOptions = {}): Promise<Found> {
  const { onStep = () => {} } = options
  const found = lookForNatsServer(options)
  if (found) return found
  const target = join(options.cache ?? cachePlace(), 'bin', SERVER)
  const failures: string[] = []
  const ways: (readonly [string, () => Promise<void>])[] = [
    ['the release on GitHub', () => downloadNatsServer(target)],
  ]
  if (isProgram('/usr/bin/apt-get'))
    ways.push([
      "the distribution's package",
      () =>
        unpackDebianPackages(['nats-server'], (root) =>
          copyInto(join(root, 'usr', 'sbin', 'nats-server'), target, 0o755),
        ),
    ])
  for (const [name, get] of ways) {
    onStep(`getting nats-server: ${name}`)
    try {
      await get()
      return { path: target, from: name }
    } catch (error) {
      failures.push(`${name}: ${explain(error)}`)
    }
  }
  throw new RlError(`nats-server is missing, and set-up could not get it (${failures.join('; ')})`, {
    code: 'broker.no-server',
    hint: installHint('nats-server'),
  })
}

/**
 * Returns OpenBLAS from the cache folder or the system, or else fetches it into the cache. Returns null if
 * that fails, since it is optional: without it the wasm backend does its own matrix products.
 */
export async function ensureOpenBlas({
  cache = findCache(),
  onStep = () => {},
}: FindOptions = {}): Promise<Found | null> {
  if (THIS_MACHINE.platform !== 'linux' || cache === null) return null
  const folder = join(cache, 'openblas')
  const target = join(folder, 'libopenblas.so.0')
  if (existsSync(target)) return { path: target, from: 'cache' }
  const system = libraryFolders()
    .flatMap((path) => OPENBLAS_FILES.map((file) => join(path, file)))
    .find((path) => existsSync(path))
  if (system) return { path: system, from: 'path' }
  onStep("getting OpenBLAS: the distribution's package")
  try {
    // Its Fortran runtime is included: a bare system does not have it.
    await unpackDebianPackages(['libopenblas0-pthread', 'libgfortran5', 'libquadmath0'], (root) => {
      for (const library of ['libquadmath.so.0', 'libgfortran.so.5', 'libopenblas.so.0'])
        copyInto(fileBelow(root, library), join(folder, library), 0o644)
    })
    return { path: target, from: "the distribution's package" }
  } catch {
    return null
  }
}

function fileBelow(root: string, name: string): string {
  const found = readdirSync(root, { recursive: true, encoding: 'utf8' }).find((path) =>
    path.endsWith(`/${name}`),
  )
  if (found === undefined)
    throw new RlError(`the package holds no ${name}`, {
      code: 'setup.bad-package',
      hint: installHint('openblas'),
    })
  return join(root, found)
}
