/**
 * Languages other than Python in a bwrap sandbox: name of the program's file, command that executes it, and
 * needed files.
 */

import { execFile } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { explain, RlError } from 'rlanything/kit'
import type { Language, Limits } from '../provider.ts'
import { findProgram } from './find-program.ts'
import { filesOfBinary } from './interpreter.ts'
import type { Execution } from './runner-protocol.ts'

/** A file or folder of this machine and the path under which programs see it. */
export type Shown = readonly [path: string, as: string]

export type OtherLanguage = Exclude<Language, 'python'>

export type Toolchain = {
  readonly shown: readonly Shown[]
  readonly execution: (limits: Limits) => Execution
  /** Makes an executable out of the program's text. Writes it in base64 on standard output. */
  readonly compiler?: {
    readonly shown: readonly Shown[]
    readonly execution: Execution
    readonly limits: Limits
  }
}

const run = promisify(execFile)
const PROBE_MS = 60_000
/** A program may have any size that compiles in this. */
const COMPILER_LIMITS: Limits = {
  cpuMs: 30_000,
  memoryMB: 1024,
  outputBytes: 32 << 20,
  processes: 32,
  fileMB: 64,
}
/**
 * Flags that judges use. The two parameters stop the compiler from asking how much memory the machine has.
 */
const FLAGS = '-O2 -std=gnu++20 -DONLINE_JUDGE --param ggc-min-expand=100 --param ggc-min-heapsize=131072'
/** Its binary names the libraries that compiled programs need. */
const PROBE = '#include <cmath>\n#include <iostream>\nint main() { std::cout << std::sqrt(4.0); }\n'

/** Languages that can be had here, beside Python. */
export const otherLanguages = (): readonly OtherLanguage[] =>
  findProgram('g++') ? ['javascript', 'cpp'] : ['javascript']

/** Returns the versions of interpreters and compilers. Another version may give other results. */
export async function otherVersions(): Promise<readonly string[]> {
  const compiler = findProgram('g++')
  const asked = compiler ? run(compiler, ['-dumpfullversion'], { timeout: PROBE_MS }) : null
  const version = await asked?.then(({ stdout }) => stdout.trim()).catch(() => 'unknown')
  return [`Node ${process.version}`, ...(version === undefined ? [] : [`g++ ${version}`])]
}

/**
 * Finds what a language needs.
 * @throws RlError `coding.language`
 */
export const openToolchain = (language: OtherLanguage): Promise<Toolchain> =>
  language === 'javascript' ? ownNode() : installedCpp()

const NODE_START = fileURLToPath(new URL('../runner/node_start.cjs', import.meta.url))
/** The stack may be as large as the memory. So an endless recursion still ends with an exception. */
const stackKB = ({ memoryMB }: Limits) => memoryMB * 1024

/** Finds the Node of this process. It gets a new path, so that no folder of this machine shows. */
async function ownNode(): Promise<Toolchain> {
  const path = '/opt/node'
  const start = '/opt/start.cjs'
  const files = await filesOfBinary(process.execPath)
  return {
    shown: [[process.execPath, path], [NODE_START, start], ...files.map(same)],
    execution: (limits) => ({
      file: '/tmp/main.js',
      argv: [path, `--stack-size=${stackKB(limits)}`, '--require', start, '/tmp/main.js'],
    }),
  }
}

async function installedCpp(): Promise<Toolchain> {
  const folder = await mkdtemp(join(tmpdir(), 'rl-compiler-'))
  try {
    const compiler = await realpath(findProgram('g++') ?? 'g++')
    const probe = join(folder, 'probe')
    await writeFile(`${probe}.cpp`, PROBE)
    await run(compiler, ['-o', probe, `${probe}.cpp`], { timeout: PROBE_MS })
    return {
      shown: (await filesOfBinary(probe)).map(same),
      execution: () => ({ file: '/tmp/main', argv: ['/tmp/main'], native: true }),
      compiler: {
        shown: await filesOfCompiler(compiler),
        execution: {
          file: '/tmp/main.cpp',
          argv: ['/bin/sh', '-c', `${compiler} ${FLAGS} -o /tmp/main /tmp/main.cpp && base64 /tmp/main`],
        },
        limits: COMPILER_LIMITS,
      },
    }
  } catch (cause) {
    throw new RlError(`g++ does not work: ${explain(cause)}`, {
      code: 'coding.language',
      hint: 'install g++ with its library, or choose another environment.coding.language',
      cause,
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Programs that the compiler calls, and files in the folders from which it links. */
const TOOLS = ['cc1plus', 'collect2', 'as', 'ld']
const PARTS = ['crt1.o', 'libc.so', 'libc.so.6', 'libm.so', 'libgcc.a', 'libgcc_s.so.1', 'libstdc++.so']

/**
 * Returns the compiler's programs, headers and libraries, as it names them itself. A compiled program can
 * read all of them.
 */
async function filesOfCompiler(compiler: string): Promise<Shown[]> {
  const ask = async (...words: string[]) => (await run(compiler, words, { timeout: PROBE_MS })).stdout.trim()
  const asked = await Promise.all(TOOLS.map((tool) => ask(`-print-prog-name=${tool}`)))
  const tools = ['sh', 'base64', ...asked].map((name) =>
    isAbsolute(name) ? name : (findProgram(name) ?? name),
  )
  const parts = await Promise.all(PARTS.map((part) => ask(`-print-file-name=${part}`)))
  const { stderr } = await run(compiler, ['-E', '-x', 'c++', '-v', '/dev/null'], { timeout: PROBE_MS })
  const [, headers = ''] = /search starts here:\n([\s\S]*?)End of search/.exec(stderr) ?? []
  const folders = [
    ...parts
      .filter((part) => isAbsolute(part))
      .flatMap((part) => [dirname(resolve(part)), dirname(realpathSync(part))]),
    ...headers.split('\n').flatMap((line) => (line.startsWith(' ') ? resolve(line.trim()) : [])),
  ]
  const programs = [compiler, ...tools].flatMap((tool) => [resolve(tool), realpathSync(tool)])
  const libraries = (await Promise.all(programs.map(filesOfBinary))).flat()
  const wanted = [...programs, '/bin/sh', ...libraries, ...folders.flatMap(underBothNames)]
  return [...new Set(wanted)].filter(existsSync).map(same)
}

/** Linker scripts name libraries under /lib, which may be a link to /usr/lib. */
function underBothNames(folder: string): string[] {
  const other = folder.replace(/^\/usr\/lib/, '/lib')
  return other !== folder && existsSync(other) ? [folder, other] : [folder]
}

export const same = (path: string): Shown => [path, path]
