/**
 * Files that a config names and that each host reads from its own disk: modules of the user, their prompt files, and
 * tasks. A host with other files would play another run.
 */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Config } from '../config.ts'
import { sectionOf } from '../environments/sections.ts'
import type { Setting } from '../environments/setting.ts'
import { loadSetting } from '../environments/settings.ts'
import { moduleFile } from '../user-module.ts'

export type OwnFile = {
  /** Names the use of the file. It is a key of the config, or that of a setting's prompt. */
  readonly key: string
  /** Its place on this host. */
  readonly path: string
  /** SHA-256 (hex) of the content. */
  readonly sha256: string
  readonly bytes: number
}

/** Keys of modules whose code works in a run. Projections change no event. */
const MODULES = ['environment.module', 'learning.module', 'models.module'] as const

/** Key of the tasks, which a host without them may get from the log. */
export const DATA = 'environment.data'

const SCRIPT = /\.[cm]?[jt]s$/
/** Texts of a module that may name a file beside it, e.g. of an import. */
const NAMED = /(['"`])(\.{1,2}\/[^'"`\n]{1,256})\1/g
/** Most files that belong to one module. */
const MOST_FILES = 2_000

/**
 * Yields the files of a config on this host. Modules come first: their code runs only if the caller asks on.
 * @throws RlError `module.missing`, and those of `loadSetting`
 */
export async function* ownFiles(config: Config): AsyncGenerator<OwnFile> {
  for (const key of MODULES) {
    const name = moduleNames(config)[key]
    if (name !== null) yield ofModule(key, moduleFile(name, key))
  }
  if (config.environment.data !== null && existsSync(config.environment.data))
    yield await ofTree(DATA, config.environment.data)
  if (config.environment.module === null) return
  const setting = await loadSetting(config.environment)
  for (const [part, prompt] of promptsOf(setting, config))
    if (isAbsolute(prompt) && existsSync(prompt)) yield await ofTree(`${setting.name}.${part}`, prompt)
}

function moduleNames({ environment, learning, models }: Config) {
  return {
    'environment.module': environment.module,
    'learning.module': learning.module,
    'models.module': models.module,
  }
}

/** Returns the absolute paths that a setting gives its prompts, by the part of the setting that names them. */
function promptsOf(setting: Setting, config: Config): readonly (readonly [part: string, path: string])[] {
  const { acting, judging, rewriting, pictures } = setting
  const language = rewriting?.language?.prompts
  const seeing = pictures?.seeing(sectionOf(setting, config.environment))
  const found: Readonly<Record<string, string | null | undefined>> = {
    'acting.prompt': acting?.kind === 'texts' ? acting.prompt : null,
    'acting.prompts.numbered': acting?.kind === 'choices' ? acting.prompts?.numbered : null,
    'acting.prompts.free': acting?.kind === 'choices' ? acting.prompts?.free : null,
    'pictures.seeing.prompt': seeing?.prompt,
    'judging.prompt': judging?.prompt,
    'rewriting.language.prompts.rewrite': language?.rewrite,
    'rewriting.language.prompts.failure': language?.failure,
  }
  return Object.entries(found).flatMap(([part, path]) => (path ? [[part, path] as const] : []))
}

/**
 * The digest covers the module, and all files that it and its files name by a relative path. Packages that it imports
 * are those of the host.
 */
function ofModule(key: string, path: string): OwnFile {
  const known = new Set([path])
  const all = createHash('sha256')
  let bytes = 0
  for (const file of known) {
    const content = readFileSync(file)
    bytes += content.byteLength
    if (SCRIPT.test(file)) for (const next of namedIn(content.toString(), file)) addUpTo(known, next)
  }
  // Files are named in an order that no host's paths decide.
  const names = [...known].map((file) => [relative(dirname(path), file).split(sep).join('/'), file] as const)
  for (const [name, file] of names.sort(([a], [b]) => (a < b ? -1 : 1)))
    all.update(`${name === '' ? '.' : name} ${digestOf(readFileSync(file))}\n`)
  return { key, path, sha256: all.digest('hex'), bytes }
}

function addUpTo(known: Set<string>, file: string): void {
  if (known.size < MOST_FILES) known.add(file)
}

function namedIn(text: string, file: string): readonly string[] {
  return [...text.matchAll(NAMED)]
    .map(([, , name]) => resolve(dirname(file), name ?? ''))
    .filter((found) => existsSync(found) && statSync(found).isFile())
}

/** A file's own digest, or one over the names and digests of all files in a folder. */
async function ofTree(key: string, path: string): Promise<OwnFile> {
  const files = await filesBelow(path)
  if (files === null) return { key, path, ...(await digestOfFile(path)) }
  const all = createHash('sha256')
  let bytes = 0
  for (const name of files) {
    const one = await digestOfFile(join(path, name))
    all.update(`${name} ${one.sha256}\n`)
    bytes += one.bytes
  }
  return { key, path, sha256: all.digest('hex'), bytes }
}

/** Returns the files in a folder and below, with `/` in their names, in order. Null if the path is a file. */
export async function filesBelow(path: string): Promise<readonly string[] | null> {
  if (!statSync(path).isDirectory()) return null
  const found = await readdir(path, { recursive: true, withFileTypes: true })
  return found
    .filter((entry) => statSync(join(entry.parentPath, entry.name)).isFile())
    .map((entry) => relative(path, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort()
}

async function digestOfFile(path: string): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    bytes += chunk.byteLength
  }
  return { sha256: hash.digest('hex'), bytes }
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Returns the digest of a path as `ownFiles` makes that of the tasks. */
export async function digestOfTree(path: string): Promise<string> {
  return (await ofTree(DATA, path)).sha256
}
