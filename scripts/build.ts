/** Compiles src into dist as `npm pack` ships it: JavaScript, declarations, and beside them the data files that modules read. */
import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** Kept as they are: compiled WebAssembly, and what other programs run (Python, Node threads of Pyodide, scripts of pages). */
const DATA = /\.(wasm|mjs|cjs|py|js)$/

export function build(): void {
  rmSync('dist', { recursive: true, force: true })
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  execFileSync(process.execPath, [compiler, '--project', 'tsconfig.build.json'], { stdio: 'inherit' })
  cpSync('src', 'dist', {
    recursive: true,
    filter: (path) => !/\.[a-z]+$/.test(path) || DATA.test(path),
  })
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) build()
