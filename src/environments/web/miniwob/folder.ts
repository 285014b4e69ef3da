/** A folder of MiniWoB++ pages. */
import { readdirSync, statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { extname, join, normalize, resolve, sep } from 'node:path'
import { RlError } from '../../../errors.ts'
import type { Serve, Served } from '../browser/page.ts'

export type PageFolder = {
  /** Names of the pages, sorted. */
  readonly pages: readonly string[]
  readonly serve: Serve
}

/** Not all pages say in what their letters are written; all that have any are in UTF-8. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.png': 'image/png',
  '.gif': 'image/gif',
  '.jpg': 'image/jpeg',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.json': 'application/json',
}

const MOST_BYTES = 8 * 1024 * 1024
const MOST_PATH = 1_000

/** The folder itself, or where it stands in a checkout or in the Python package. Errors: `web.no-data`. */
export function openFolder(folder: string): PageFolder {
  const root = ['.', 'html', 'miniwob/html']
    .map((path) => resolve(folder, path))
    .find((path) => isFile(join(path, 'core', 'core.js')))
  if (root === undefined)
    throw new RlError(`there are no MiniWoB++ pages in ${folder}`, {
      code: 'web.no-data',
      hint: 'name the folder that holds core/ and miniwob/ (html/ of a checkout or of the Python package miniwob)',
    })
  const pages = readdirSync(join(root, 'miniwob'))
    .filter((name) => /^[\w-]+\.html$/.test(name))
    .map((name) => name.slice(0, -5))
    .filter((name) => name !== 'index')
    .sort()
  /** Files that are there, by their names alone: a page may ask for any path. */
  const files = new Map<string, Served>()
  return {
    pages,
    async serve(path) {
      const file = normalize(join(root, path))
      if (path.length > MOST_PATH || !file.startsWith(root + sep)) return null
      const served = files.get(file) ?? (await load(file))
      if (served) files.set(file, served)
      return served
    },
  }
}

async function load(file: string): Promise<Served | null> {
  const info = await stat(file).catch(() => null)
  if (!info?.isFile() || info.size > MOST_BYTES) return null
  return { body: await readFile(file), mediaType: MEDIA_TYPES[extname(file)] ?? 'application/octet-stream' }
}

const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() === true
