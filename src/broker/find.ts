/** Where programs and libraries come from that npm does not carry: the PATH, the project's cache folder, or set-up into that folder. */
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
  /** Folders to search before the cache; those of PATH, and where Debian keeps servers. */
  readonly folders?: readonly string[]
  /** Told about each attempt of set-up. */
  readonly onStep?: (step: string) => void
}

/** nats-server where it is there already, or null; changes nothing. */
export function lookForNatsServer({
  cache = findCache(),
  folders = programFolders(),
}: FindOptions = {}): Found | null {
  const onPath = folders.map((folder) => join(folder, SERVER)).find(isProgram)
  if (onPath) return { path: onPath, from: 'path' }
  const cached = cache === null ? null : join(cache, 'bin', SERVER)
  return cached !== null && isProgram(cached) ? { path: cached, from: 'cache' } : null
}

/** nats-server, got into the cache where it is missing. Errors: `broker.no-server`, with the one command to run by hand. */
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
 * OpenBLAS in the cache folder or on the system, else got into the cache; null where that is not possible, because it is
 * optional: without it the wasm backend does its own matrix products.
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
    // Its Fortran runtime comes along: it is absent from a bare system.
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
