/** A folder of MiniWoB++ pages. */

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { basename, extname, join, normalize, resolve, sep } from 'node:path'
import { RlError } from 'rlanything/kit'
import type { Serve, Served } from '../browser/page-requests.ts'

export type PageFolder = {
  /** Names of the pages, sorted. */
  readonly pages: readonly string[]
  readonly serve: Serve
}

/** Media types by a file's ending, in lower case. All texts are in UTF-8, which not all pages say. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ...each('text/html; charset=utf-8', 'html htm'),
  ...each('application/xhtml+xml; charset=utf-8', 'xhtml xht'),
  ...each('text/javascript; charset=utf-8', 'js mjs cjs jsm'),
  ...each('text/css; charset=utf-8', 'css'),
  ...each('text/plain; charset=utf-8', 'txt md log tmpl tpl mustache'),
  ...each('text/csv; charset=utf-8', 'csv'),
  ...each('text/vtt; charset=utf-8', 'vtt'),
  ...each('application/xml; charset=utf-8', 'xml xsl xslt rss atom'),
  ...each('application/json; charset=utf-8', 'json map geojson'),
  ...each('application/manifest+json; charset=utf-8', 'webmanifest'),
  ...each('image/svg+xml; charset=utf-8', 'svg'),
  ...each('image/png', 'png apng'),
  ...each('image/jpeg', 'jpg jpeg jpe jfif'),
  ...each('image/gif', 'gif'),
  ...each('image/webp', 'webp'),
  ...each('image/avif', 'avif'),
  ...each('image/bmp', 'bmp'),
  ...each('image/x-icon', 'ico cur'),
  ...each('font/woff2', 'woff2'),
  ...each('font/woff', 'woff'),
  ...each('font/ttf', 'ttf'),
  ...each('font/otf', 'otf'),
  ...each('application/vnd.ms-fontobject', 'eot'),
  ...each('application/wasm', 'wasm'),
  ...each('application/pdf', 'pdf'),
  ...each('audio/mpeg', 'mp3'),
  ...each('audio/wav', 'wav'),
  ...each('audio/ogg', 'ogg oga opus'),
  ...each('audio/mp4', 'm4a'),
  ...each('video/mp4', 'mp4 m4v'),
  ...each('video/webm', 'webm'),
}

function each(mediaType: string, endings: string): Record<string, string> {
  return Object.fromEntries(endings.split(' ').map((ending) => [`.${ending}`, mediaType]))
}

const MOST_BYTES = 8 * 1024 * 1024
const MOST_PATH = 1_000
/**
 * A file called `.html` is a page. Any other is a page if it has the common form. Else it may only be shown
 * in a frame.
 */
const COMMON_FORM = /core\.js/
function isPage(file: string): boolean {
  const name = basename(file)
  if (name.startsWith('.') || !/\.x?html?$/i.test(name) || !isFile(file)) return false
  return name.endsWith('.html') || COMMON_FORM.test(readFileSync(file, 'latin1'))
}

const nameOfPage = (file: string): string => (file.endsWith('.html') ? file.slice(0, -'.html'.length) : file)

/** The page's address: a file may have any name. */
export function addressOf(page: string): string {
  const file = /\.x?html?$/i.test(page) && !page.endsWith('.html') ? page : `${page}.html`
  return `/miniwob/${encodeURIComponent(file)}`
}

/**
 * Opens the folder itself, or its usual place in a checkout or in the Python package.
 * @throws RlError `web.no-data`
 */
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
    .filter((name) => isPage(join(root, 'miniwob', name)))
    .map(nameOfPage)
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
  return {
    body: await readFile(file),
    mediaType: MEDIA_TYPES[extname(file).toLowerCase()] ?? 'application/octet-stream',
  }
}

const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() === true
