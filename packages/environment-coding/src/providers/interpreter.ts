/** Files that an interpreter needs. A sandbox sees these and no other files of the system. */

import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { explain, itemAt, RlError } from 'rlanything/kit'
import { findProgram } from './find-program.ts'

export type Interpreter = {
  readonly path: string
  /** e.g. `CPython 3.11.2` */
  readonly version: string
  /** Files and folders, under the paths that they have on this machine. */
  readonly files: readonly string[]
  /** Folders of its libraries, for a loader without its cache. */
  readonly libraryFolders: readonly string[]
}

/** Imports every extension module, so that the libraries that they need are mapped. */
const SURVEY = `import json, os, platform, sys, sysconfig
paths = sysconfig.get_paths()
folders = {paths['stdlib'], paths['platstdlib']}
for folder in list(folders):
    try:
        names = os.listdir(os.path.join(folder, 'lib-dynload'))
    except OSError:
        names = []
    for name in names:
        module = name.partition('.')[0]
        if 'test' in module or 'xx' in module:
            continue
        try:
            __import__(module)
        except Exception:
            pass
maps = {line.split(None, 5)[5].strip() for line in open('/proc/self/maps') if len(line.split(None, 5)) > 5}
libraries = sorted(path for path in maps if path.startswith('/') and '.so' in path)
print(json.dumps({
    'executable': os.path.realpath(sys.executable),
    'version': platform.python_implementation() + ' ' + platform.python_version(),
    'folders': sorted(folders),
    'libraries': libraries,
}))
`
const SURVEY_MS = 60_000

/** Read-only data that programs ask for by a fixed path. */
const DATA = ['/usr/share/zoneinfo', '/usr/lib/locale/C.utf8']

const run = promisify(execFile)

/**
 * Inspects a Python interpreter: by default the system's own, else the first of PATH.
 * @throws RlError if none works
 */
export async function findPython(
  path = findProgram('python3', ['/usr/bin', '/usr/local/bin']) ?? findProgram('python3'),
): Promise<Interpreter> {
  if (path === null)
    throw new RlError('python3 is not installed', {
      code: 'coding.no-python',
      hint: 'install python3, or use --provider pyodide',
    })
  try {
    const { stdout } = await run(path, ['-I', '-S', '-B', '-c', SURVEY], { timeout: SURVEY_MS, env: {} })
    const { executable, version, folders, libraries } = JSON.parse(stdout) as {
      executable: string
      version: string
      folders: string[]
      libraries: string[]
    }
    const outside = libraries.filter((library) => !folders.some((folder) => library.startsWith(`${folder}/`)))
    const files = [executable, ...folders, ...withLinks(outside), loaderOf(executable), ...DATA]
    return { path: executable, version, files: present(files), libraryFolders: foldersOf(outside) }
  } catch (cause) {
    throw new RlError(`${path} does not work as a Python interpreter: ${explain(cause)}`, {
      code: 'coding.no-python',
      hint: 'install python3 3.9 or newer, or use --provider pyodide',
      cause,
    })
  }
}

/**
 * Returns the files that an executable other than Python needs: the libraries and the loader that it names.
 */
export async function filesOfBinary(executable: string): Promise<string[]> {
  const { stdout } = await run('ldd', [executable], { timeout: SURVEY_MS }).catch(() => ({ stdout: '' }))
  const libraries = [...stdout.matchAll(/=> (\/\S+)/g)].map((found) => itemAt(found, 1))
  return present([...withLinks(libraries), loaderOf(executable)])
}

const foldersOf = (files: readonly string[]) => [...new Set(files.map((file) => dirname(file)))]

/** The loader finds a library by its short name, which may be a link to the file that is mapped. */
function withLinks(libraries: readonly string[]): string[] {
  return libraries.flatMap((library) => {
    const [stem] = basename(library).split('.so')
    const names = readdirSync(dirname(library)).filter((name) => name.startsWith(`${stem}.so`))
    return names
      .map((name) => join(dirname(library), name))
      .filter((path) => existsSync(path) && realpathSync(path) === realpathSync(library))
  })
}

/** Returns the path of the dynamic loader in an ELF file (its PT_INTERP), or '' if it has none. */
function loaderOf(executable: string): string {
  const bytes = readFileSync(executable)
  if (bytes.readUInt32BE(0) !== 0x7f454c46 || bytes[4] !== 2) return ''
  const table = Number(bytes.readBigUInt64LE(32))
  const size = bytes.readUInt16LE(54)
  for (let i = 0; i < bytes.readUInt16LE(56); i++) {
    const entry = table + i * size
    if (bytes.readUInt32LE(entry) !== 3) continue
    const start = Number(bytes.readBigUInt64LE(entry + 8))
    return bytes.toString('latin1', start, bytes.indexOf(0, start))
  }
  return ''
}

/** Returns existing files, without those inside another one of them. */
function present(files: readonly string[]): string[] {
  const all = [...new Set(files)].filter((file) => file !== '' && existsSync(file))
  return all.filter((file) => !all.some((other) => other !== file && isInside(file, other)))
}

export function isInside(file: string, folder: string): boolean {
  for (let above = dirname(file); above !== '/' && above !== '.'; above = dirname(above))
    if (above === folder) return true
  return false
}
