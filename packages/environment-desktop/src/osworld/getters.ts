/**
 * Getters of the values to be judged: from files and answers of the desktop, files of this machine, and the
 * task itself.
 */

import { basename } from 'node:path'
import { RlError } from 'rlanything/kit'
import { toXml } from './accessibility-xml.ts'
import { readDocument } from './document.ts'
import { readHere } from './files-here.ts'
import { readOr } from './read-or.ts'
import type { SetupContext } from './setup.ts'
import { readWorkbook } from './spreadsheet.ts'
import type { Source } from './task-file.ts'
import { descendants, parseXml } from './xml.ts'

/** A file's bytes, a text, or a value of the task. Null if there is no such thing. */
export type Found =
  | Uint8Array
  | string
  | number
  | boolean
  | null
  | readonly unknown[]
  | { readonly [key: string]: unknown }

type Getter = (context: SetupContext, source: Source) => Promise<Found>

/** Getters by their names in tasks. */
export const GETTERS: Readonly<Record<string, Getter>> = {
  rule: async (_, { rules }) => (rules ?? null) as Found,
  vm_file: (context, source) => fetched(context, source, (path) => context.computer.readFile(path)),
  cloud_file: (context, source) =>
    fetched(context, source, async (path) => readHere(context.folder, context.task, path)),
  cache_file: async ({ cache }, { path }) => cache.get(word('path', path)) ?? null,
  vm_command_line: async (context, source) => (await answer(context, source))?.output ?? null,
  vm_command_error: async (context, source) => (await answer(context, source))?.error ?? null,
  list_directory: ({ computer }, { path }) =>
    orNothing(() => computer.listDirectory(word('path', path)) as Promise<Found>),
  vm_screen_size: ({ computer }) => computer.size(),
  accessibility_tree: async ({ computer }) => {
    const tree = await computer.accessibility()
    return tree ? toXml(tree) : null
  },
  content_from_vm_file: async (context, source) => {
    const book = readOr(await context.computer.readFile(word('path', source.path)), readWorkbook)
    if (source.file_type !== 'xlsx' || source.file_content !== 'last_row')
      throw new RlError(`content_from_vm_file reads no ${source.file_content} of ${source.file_type}`, {
        code: 'desktop.task',
      })
    const sheet = book?.[0]
    if (!sheet) return null
    const rows = Math.max(0, ...[...sheet.values.keys()].map((address) => Number(/\d+$/.exec(address)?.[0])))
    return [...sheet.values]
      .filter(([address]) => address.endsWith(`${rows}`))
      .map(([, value]) => String(value))
  },
  /** Our own getter: the paragraphs of a text document. */
  document_text: async (context, { path }) => {
    const document = readOr(await context.computer.readFile(word('path', path)), readDocument)
    return document?.paragraphs.join('\n') ?? null
  },
  /** Our own getter: the text of the first element of a role in the accessibility tree. */
  element_text: async (context, { role }) => {
    const tree = await context.computer.accessibility()
    if (!tree) return null
    for (const { content } of descendants(parseXml(toXml(tree)), word('role', role))) {
      const text = content.filter((one) => typeof one === 'string').join('')
      if (text !== '') return text
    }
    return null
  },
}

export function isGetter(type: string): boolean {
  return Object.hasOwn(GETTERS, type)
}

/** @throws RlError `desktop.task` if the source cannot be read, or an error of the desktop */
export function get(context: SetupContext, source: Source): Promise<Found> {
  const getter = isGetter(source.type) ? GETTERS[source.type] : undefined
  if (getter === undefined)
    throw new RlError(`the getter '${source.type}' is not supported`, { code: 'desktop.task' })
  return getter(context, source)
}

/** Keeps all files of a source under their names, and returns one of them. */
async function fetched(
  { cache }: SetupContext,
  source: Source,
  read: (path: string) => Promise<Uint8Array | null>,
): Promise<Found> {
  const files: (Uint8Array | null)[] = []
  for (const [at, path] of [source.path].flat().entries()) {
    const bytes = await read(word('path', path))
    if (bytes !== null) cache.set(nameOf(source, at), bytes)
    files.push(bytes)
  }
  return files[givenBy(source)] ?? null
}

/** Returns the index of the file that a source gives. Default: the first. */
const givenBy = ({ gives }: Source): number => Number([gives ?? 0].flat()[0])

/** Returns the name in the cache of one of a source's files. Default: the file that the source gives. */
export function nameOf(source: Source, at = givenBy(source)): string {
  const [path, dest] = [source.path, source.dest].map((one) => [one].flat()[at])
  return typeof dest === 'string' ? dest : basename(word('path', path))
}

function answer({ computer }: SetupContext, { command, shell }: Source) {
  const words = Array.isArray(command) ? command.map((one) => word('command', one)) : word('command', command)
  return orNothing(() => computer.execute(words, { shell: shell === true }))
}

/**
 * Returns null if the desktop refuses, as OSWorld's getters do. A deleted folder, or a pipe in place of a
 * file, is the agent's doing. It is not an infrastructure error.
 */
async function orNothing<Answer>(ask: () => Promise<Answer>): Promise<Answer | null> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof RlError && REFUSALS.includes(error.code)) return null
    throw error
  }
}

const REFUSALS = ['desktop.refused', 'desktop.missing-file']

function word(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '')
    throw new RlError(`${name} is no text`, { code: 'desktop.task' })
  return value
}
