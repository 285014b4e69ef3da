/** Modules of the user's own (an environment, rules, projections), named in a config by a path or as a package. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { within } from './clock.ts'
import { explain, RlError } from './errors.ts'
import { SOURCES } from './package.ts'
import { textOf } from './text-file.ts'
import { placeOf } from './user-code.ts'

export type UserModule = {
  /** As the config names it. */
  readonly name: string
  readonly file: string
  /** SHA-256 of the file, hex; of what it imports in turn nothing is said. */
  readonly digest: string
  readonly exports: Readonly<Record<string, unknown>>
}

/** What a module awaits at its top level may take so long: whoever starts a run waits for it, and sees nothing meanwhile. */
const LOAD_MS = 120_000

const SCRIPT = /\.[cm]?[jt]s$/

const loaded = new Map<string, Promise<UserModule>>()

/**
 * The module that `name` names: a path (`./mine.ts`, relative to the working folder) or a package that is installed there.
 * Loaded once a process, however often it is asked for.
 * @param key the key of the config that names it, for error messages
 * @throws RlError `module.missing` where there is none, `module.broken` where it cannot be loaded, or not in time
 */
export function loadUserModule(name: string, key: string, loadMs = LOAD_MS): Promise<UserModule> {
  const file = fileOf(name, key)
  const known = loaded.get(file)
  if (known) return known
  if (SOURCES && loaded.size === 0) nameSources()
  const loading = load(name, file, key, loadMs)
  loaded.set(file, loading)
  return loading
}

/** Outside of a checkout a module finds the checkout's packages by their names. Node has no such hooks before 22.15. */
function nameSources(): void {
  module.registerHooks?.({
    resolve: (name, context, next) =>
      next(name, /^@?rlanything(\/|$)/.test(name) ? { ...context, parentURL: import.meta.url } : context),
  })
}

function fileOf(name: string, key: string): string {
  const isPath = name.startsWith('.') || isAbsolute(name) || name.startsWith('file:')
  if (isPath) {
    const file = name.startsWith('file:') ? fileURLToPath(name) : resolve(name)
    if (existsSync(file)) return file
    throw new RlError(`${key}: there is no file ${file}`, {
      code: 'module.missing',
      hint: 'a path is relative to the folder in which the command is started',
    })
  }
  try {
    return createRequire(join(process.cwd(), 'package.json')).resolve(name)
  } catch (cause) {
    throw new RlError(`${key}: there is no package '${name}' in ${process.cwd()}`, {
      code: 'module.missing',
      hint: `npm install ${name}, or begin the path of a file with './'`,
      cause,
    })
  }
}

async function load(name: string, file: string, key: string, loadMs: number): Promise<UserModule> {
  const late = () => new Error(`what it awaits at its top level did not end within ${loadMs / 1000} s`)
  const bytes = readFileSync(file)
  if (SCRIPT.test(file)) textOf(bytes, file) // Node decodes it with loss.
  try {
    const exports: Record<string, unknown> = await within(import(pathToFileURL(file).href), loadMs, late)
    const digest = createHash('sha256').update(bytes).digest('hex')
    return { name, file, digest, exports }
  } catch (cause) {
    const place = placeOfLoad(cause, file)
    throw new RlError(
      `${key}: ${file} cannot be loaded: ${place === null ? '' : `${place}: `}${explain(cause)}`,
      {
        code: 'module.broken',
        hint:
          (cause as NodeJS.ErrnoException | undefined)?.code === 'ERR_UNKNOWN_FILE_EXTENSION'
            ? 'Node 22.18 and newer read TypeScript; for an older one write JavaScript'
            : `try it alone, from ${dirname(file)}`,
        cause,
      },
    )
  }
}

/** The line at which loading ended, in the module or in one that it imports; null where that is not known. */
function placeOfLoad(cause: unknown, file: string): string | null {
  const { stack } = (cause ?? {}) as { readonly stack?: unknown }
  const named = typeof stack === 'string' ? lineIn(stack) : null
  if (named !== null) return named
  if (cause instanceof SyntaxError) return lineIn(checkedAlone(file))
  const place = placeOf(cause, file)
  return place === file ? null : place
}

/** Node puts `file:line` in front of what it says of a text that it cannot read. */
function lineIn(said: string): string | null {
  const [, address, line] = /^(.+):(\d+)$/.exec(said.split('\n', 1)[0]) ?? []
  if (address === undefined) return null
  return `${address.startsWith('file:') ? fileURLToPath(address) : address}:${line}`
}

/** What Node says of the text of a file, without running it: an import that fails does not tell the line. */
function checkedAlone(file: string): string {
  const { stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8', timeout: 10_000 })
  return stderr ?? ''
}

/**
 * A plain object with all that a user's has, methods of its class too: parts of it are put in the place of others. They are called
 * for the object itself, whose private fields are there for it alone.
 */
export function flattened<T extends object>(one: T): T {
  const all: Record<string, unknown> = {}
  for (let from: object = one; from && from !== Object.prototype; from = Object.getPrototypeOf(from))
    for (const key of Object.getOwnPropertyNames(from)) {
      if (Object.hasOwn(all, key) || key === 'constructor') continue
      const value: unknown = Reflect.get(one, key)
      all[key] = typeof value === 'function' ? value.bind(one) : value
    }
  return all as T
}
