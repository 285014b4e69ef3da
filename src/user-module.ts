/** Modules of users (an environment, rules, projections). A config names them by a path or as a package. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { within } from './clock.ts'
import { explain, RlError } from './errors.ts'
import { SOURCES } from './package.ts'
import { textOf } from './text-file.ts'
import { placeOf } from './user-code.ts'

export type UserModule = {
  /** Name of the module in the config. */
  readonly name: string
  readonly file: string
  /** SHA-256 of the file, hex. It does not cover the modules that the file imports. */
  readonly digest: string
  readonly exports: Readonly<Record<string, unknown>>
}

/**
 * Time limit for what a module awaits at its top level. The person who starts a run waits for it, and sees
 * nothing.
 */
const LOAD_MS = 120_000

const SCRIPT = /\.[cm]?[jt]s$/

const loaded = new Map<string, Promise<UserModule>>()

/**
 * Loads the module that `name` names: a path (`./mine.ts`, relative to the working folder) or an installed
 * package. A module is loaded once a process.
 *
 * @param key the key of the config that names the module, for error messages
 * @throws RlError `module.missing` if there is none, `module.broken` if it cannot be loaded in time
 */
export function loadUserModule(name: string, key: string, loadMs = LOAD_MS): Promise<UserModule> {
  const file = moduleFile(name, key)
  const known = loaded.get(file)
  if (known) return known
  if (SOURCES && loaded.size === 0) nameSources()
  const loading = load(name, file, key, loadMs)
  loaded.set(file, loading)
  return loading
}

/**
 * Outside of a checkout, lets a module find the checkout's packages by name. Node has no such hooks before
 * 22.15.
 */
function nameSources(): void {
  module.registerHooks?.({
    resolve: (name, context, next) =>
      next(name, /^@?rlanything(\/|$)/.test(name) ? { ...context, parentURL: import.meta.url } : context),
  })
}

/**
 * Returns the file of a module that `name` names, as `loadUserModule` finds it.
 * @throws RlError `module.missing`
 */
export function moduleFile(name: string, key: string): string {
  const isPath = name.startsWith('.') || isAbsolute(name) || name.startsWith('file:')
  if (isPath) {
    const file = name.startsWith('file:') ? fileURLToPath(name) : resolve(name)
    if (existsSync(file)) return statSync(file).isDirectory() ? mainOf(file, key) : file
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

/** Returns the main module of a folder: that of its package.json, else its index. */
function mainOf(folder: string, key: string): string {
  const { resolve: find } = createRequire(join(folder, 'package.json'))
  for (const name of [folder, './index.ts', './index.mjs']) {
    try {
      return find(name)
    } catch {
      // The next one may be there.
    }
  }
  throw new RlError(`${key}: the folder ${folder} has no main module`, {
    code: 'module.missing',
    hint: 'name a file of it, or name its module in "main" of its package.json',
  })
}

async function load(name: string, file: string, key: string, loadMs: number): Promise<UserModule> {
  const late = () => new Error(`its top-level await did not end within ${loadMs / 1000} s`)
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
            ? 'TypeScript needs Node 22.18 or newer; use JavaScript with an older Node'
            : `run it on its own, in ${dirname(file)}`,
        cause,
      },
    )
  }
}

/**
 * Returns the line at which loading ended, in the module or in an imported one. Returns null if it is
 * unknown.
 */
function placeOfLoad(cause: unknown, file: string): string | null {
  const { stack } = (cause ?? {}) as { readonly stack?: unknown }
  const named = typeof stack === 'string' ? lineIn(stack) : null
  if (named !== null) return named
  if (cause instanceof SyntaxError) return lineIn(checkedAlone(file))
  const place = placeOf(cause, file)
  return place === file ? null : place
}

/** Reads the `file:line` that Node puts in front of its message about a text that it cannot parse. */
function lineIn(said: string): string | null {
  const [, address, line] = /^(.+):(\d+)$/.exec(said.split('\n', 1).join()) ?? []
  if (address === undefined) return null
  return `${address.startsWith('file:') ? fileURLToPath(address) : address}:${line}`
}

/**
 * Returns Node's message about the text of a file, without running it. A failed import does not tell the
 * line.
 */
function checkedAlone(file: string): string {
  const { stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8', timeout: 10_000 })
  return stderr ?? ''
}

/**
 * Returns a plain object with all properties of a user's object, methods of its class too. So single parts
 * can be replaced. Methods stay bound to the original object, which alone has its private fields.
 *
 * @example const guarded = { ...flattened(provider), close: () => callWithin(call, limit, () => provider.close()) }
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
