/** Languages other than Python in a bwrap sandbox: what the program's file is, what executes it, and which files that needs. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { explain, RlError } from '../../../errors.ts'
import type { Language, Limits } from '../executor.ts'
import { findProgram } from './find-program.ts'
import { filesOfBinary } from './interpreter.ts'
import type { Execution } from './runner-protocol.ts'

/** A file or folder of this machine and the path under which programs see it. */
export type Shown = readonly [path: string, as: string]

export type OtherLanguage = Exclude<Language, 'python'>

export type Toolchain = {
  readonly shown: readonly Shown[]
  readonly execution: Execution
  /** Makes what is executed out of the program's text; it writes it in base64 on standard output. */
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
/** Names the libraries that compiled programs need. */
const PROBE = '#include <cmath>\n#include <iostream>\nint main() { std::cout << std::sqrt(4.0); }\n'

/** Languages that can be had here, beside Python. */
export const otherLanguages = (): readonly OtherLanguage[] =>
  findProgram('g++') ? ['javascript', 'cpp'] : ['javascript']

/** Looks at what a language needs. @throws RlError `coding.language` */
export const openToolchain = (language: OtherLanguage): Promise<Toolchain> =>
  language === 'javascript' ? ownNode() : installedCpp()

/** The Node that runs this, wherever it lies: under a path of its own, so that no folder of this machine shows. */
async function ownNode(): Promise<Toolchain> {
  const path = '/opt/node'
  const files = await filesOfBinary(process.execPath)
  return {
    shown: [[process.execPath, path], ...files.map(same)],
    execution: { file: '/tmp/main.js', argv: [path, '/tmp/main.js'] },
  }
}

async function installedCpp(): Promise<Toolchain> {
  const folder = await mkdtemp(join(tmpdir(), 'rl-compiler-'))
  try {
    const compiler = await realpath(findProgram('g++') ?? 'g++')
    const probe = join(folder, 'probe')
    await writeFile(`${probe}.cpp`, PROBE)
    await run(compiler, ['-o', probe, `${probe}.cpp`], { timeout: PROBE_MS })
    const system = ['/usr', '/lib', '/lib64', '/bin', dirname(dirname(compiler))].filter(existsSync)
    return {
      shown: (await filesOfBinary(probe)).map(same),
      execution: { file: '/tmp/main', argv: ['/tmp/main'] },
      compiler: {
        shown: system.map(same),
        execution: {
          file: '/tmp/main.cpp',
          argv: [
            '/bin/sh',
            '-c',
            `${compiler} -O2 -std=gnu++20 -o /tmp/main /tmp/main.cpp && base64 /tmp/main`,
          ],
        },
        limits: COMPILER_LIMITS,
      },
    }
  } catch (cause) {
    throw new RlError(`g++ does not work: ${explain(cause)}`, {
      code: 'coding.language',
      hint: 'install g++ with its library, or choose another environment.language',
      cause,
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export const same = (path: string): Shown => [path, path]
