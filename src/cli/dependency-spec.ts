/**
 * How another project names the running package, so that npm finds it again. It is named as it was installed.
 */
import { existsSync } from 'node:fs'
import { basename, dirname, resolve, sep } from 'node:path'
import { PACKAGE_ROOT, SOURCES } from '../package.ts'
import { readTextSync } from '../text-file.ts'

const NAME = 'rlanything'
const SECTIONS = ['dependencies', 'devDependencies', 'optionalDependencies'] as const
/** A file, a folder or an archive, beside the project that names it. */
const LOCAL = /^(?:file:|\.{1,2}[\\/]|~?[\\/]|[A-Za-z]:[\\/])|\.(?:tgz|tar\.gz)$/
/** Links of a workspace or a package manager, which mean something in one project alone. */
const OWN = /^(?:workspace|link|portal|catalog|patch):/

/**
 * Returns the dependency as npm takes it. A checkout is named by its folder. An installed package is named as
 * in the project above it, or as its package manager noted. If neither names it, its folder is used, which
 * has all that it needs.
 * @param root folder of the package, for tests
 */
export function dependencySpec(root = PACKAGE_ROOT, isCheckout = SOURCES): string {
  if (isCheckout) return fileSpec(root)
  const project = projectAbove(root)
  const named = project === null ? null : (specIn(project) ?? notedIn(project))
  if (project === null || named === null || OWN.test(named)) return fileSpec(root)
  if (!LOCAL.test(named) || /^[a-z+]+:\/\//.test(named.replace(/^file:/, ''))) return named
  const path = resolve(project, named.replace(/^file:(?:\/\/)?/, ''))
  return existsSync(path) ? fileSpec(path) : fileSpec(root)
}

function fileSpec(path: string): string {
  return `file:${path.split(sep).join('/')}`
}

/** The folder whose node_modules hold the package: the outermost, since some package managers nest them. */
function projectAbove(root: string): string | null {
  let found: string | null = null
  for (let folder = resolve(root); folder !== dirname(folder); folder = dirname(folder))
    if (basename(folder) === 'node_modules') found = dirname(folder)
  return found
}

function specIn(project: string): string | null {
  const read = jsonIn(resolve(project, 'package.json'))
  for (const section of SECTIONS) {
    const spec = (read?.[section] as Readonly<Record<string, unknown>> | undefined)?.[NAME]
    if (typeof spec === 'string') return spec
  }
  return null
}

/**
 * Returns npm's note about a package that was installed without being saved. A package of a registry is named
 * by its version.
 */
function notedIn(project: string): string | null {
  const lock = jsonIn(resolve(project, 'node_modules', '.package-lock.json'))
  const packages = lock?.packages as Readonly<Record<string, Noted>> | undefined
  const { resolved, version } = packages?.[`node_modules/${NAME}`] ?? {}
  const isRegistry = resolved === undefined || new RegExp(`/${NAME}/-/${NAME}-[^/]*\\.tgz$`).test(resolved)
  return isRegistry ? (version === undefined ? null : `^${version}`) : resolved
}

type Noted = { readonly resolved?: string; readonly version?: string }

function jsonIn(path: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(readTextSync(path))
    return typeof value === 'object' ? (value as Readonly<Record<string, unknown>> | null) : null
  } catch {
    return null
  }
}
