/**
 * Compiles src into dist as `npm pack` ships it: JavaScript, declarations, and the data files that modules
 * read. The packages need the root's dist. `node bin/launch.mjs scripts/build.ts [packages/NAME...]` builds
 * the named ones, or all.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { explain, RlError } from '../src/errors.ts'
import { buildPage } from '../src/ui/server/bundle.ts'

/**
 * Files that are copied: compiled WebAssembly, and code for other programs (Python, Node threads of Pyodide,
 * pages' scripts).
 */
const DATA = /\.(wasm|mjs|cjs|py|js)$/

/** In order: each package may need those before it. */
export const BUILT = [
  '.',
  ...['environment-desktop', 'environment-web', 'environment-coding', 'environment-tools'].map(
    (name) => `packages/${name}`,
  ),
]

/** @param folder of a package, from the project's root */
export function build(folder: string): void {
  const compiler = findCompiler()
  const [src, dist] = [join(folder, 'src'), join(folder, 'dist')]
  rmSync(dist, { recursive: true, force: true })
  execFileSync(process.execPath, [compiler, '--project', join(folder, 'tsconfig.build.json')], {
    stdio: 'inherit',
  })
  cpSync(src, dist, {
    recursive: true,
    filter: (path) => !/\.[a-z]+$/.test(path) || DATA.test(path),
  })
}

function findCompiler(): string {
  try {
    return createRequire(import.meta.url).resolve('typescript/bin/tsc')
  } catch (cause) {
    throw new RlError('there is no compiler: what the package is made with is not installed', {
      code: 'build.no-compiler',
      hint: 'run: npm ci',
      cause,
    })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  try {
    const wanted = process.argv.slice(2)
    for (const folder of wanted.length > 0 ? wanted : BUILT) {
      build(folder)
      if (folder === '.') await buildPage('dist/ui/page')
    }
  } catch (error) {
    // The compiler has told what it found.
    process.stderr.write(`build: ${error instanceof RlError ? explain(error) : 'dist/ could not be made'}\n`)
    process.exitCode = 1
  }
