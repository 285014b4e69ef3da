/** Compiles src into dist as `npm pack` ships it: JavaScript, declarations, and beside them the data files that modules read. */
import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { explain, RlError } from '../src/errors.ts'

/** Kept as they are: compiled WebAssembly, and what other programs run (Python, Node threads of Pyodide, scripts of pages). */
const DATA = /\.(wasm|mjs|cjs|py|js)$/

export function build(): void {
  const compiler = findCompiler()
  rmSync('dist', { recursive: true, force: true })
  execFileSync(process.execPath, [compiler, '--project', 'tsconfig.build.json'], { stdio: 'inherit' })
  cpSync('src', 'dist', {
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
    build()
  } catch (error) {
    // What the compiler found is told already.
    process.stderr.write(`build: ${error instanceof RlError ? explain(error) : 'dist/ could not be made'}\n`)
    process.exitCode = 1
  }
