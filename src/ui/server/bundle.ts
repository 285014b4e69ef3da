/** The page's script and style. A checkout makes them at the first request, a package ships them. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RlError } from '../../errors.ts'
import { cachePlace, PACKAGE_ROOT, SOURCES } from '../../package.ts'
import { makePublicFolder } from '../../platform/public-folder.ts'

/** Files of a made page. */
export type Bundle = { readonly script: Uint8Array; readonly style: Uint8Array }

const PAGE = fileURLToPath(new URL('../page/', import.meta.url))
const LOGIC = fileURLToPath(new URL('../logic/', import.meta.url))

let made: Promise<Bundle> | undefined

/**
 * Returns the script and the style of the page.
 * @throws RlError `ui.not-built` if neither sources with esbuild nor made files are there
 */
export function pageBundle(): Promise<Bundle> {
  made ??= findBundle().catch((error: unknown) => {
    made = undefined
    throw error
  })
  return made
}

async function findBundle(): Promise<Bundle> {
  const shipped = join(PACKAGE_ROOT, 'dist/ui/page')
  if (!SOURCES) return readBundle(shipped)
  const folder = cachePlace('ui', `page-${digestOfSources()}`)
  if (!existsSync(join(folder, 'main.css'))) {
    const built = await buildPage(folder)
    if (!built) {
      if (existsSync(join(shipped, 'main.css'))) return readBundle(shipped)
      throw new RlError('the page is not built', {
        code: 'ui.not-built',
        hint: 'run: npm ci, or on a machine that has it: npm run build',
      })
    }
  }
  return readBundle(folder)
}

function readBundle(folder: string): Bundle {
  try {
    return { script: readFileSync(join(folder, 'main.js')), style: readFileSync(join(folder, 'main.css')) }
  } catch (cause) {
    throw new RlError(`the page is not built: ${folder} is not there`, {
      code: 'ui.not-built',
      hint: 'run: npm run build',
      cause,
    })
  }
}

/** Bundles the page into a folder. Returns false if the bundler is not installed. */
export async function buildPage(folder: string): Promise<boolean> {
  const esbuild = await import('esbuild').catch(() => null)
  if (esbuild === null) return false
  makePublicFolder(folder)
  await esbuild.build({
    entryPoints: [join(PAGE, 'main.tsx')],
    outdir: folder,
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    define: { 'process.env.NODE_ENV': '"production"' },
    legalComments: 'none',
    logLevel: 'error',
  })
  return true
}

function digestOfSources(): string {
  const hash = createHash('sha256')
  for (const folder of [PAGE, LOGIC])
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort())
      if (/\.(tsx?|css)$/.test(file)) hash.update(`${file}\n`).update(readFileSync(join(folder, file)))
  return hash.digest('hex').slice(0, 16)
}
