/**
 * `node bin/launch.mjs scripts/indexed.ts`: type-checks folders that keep `noUncheckedIndexedAccess`. The list may only grow. A
 * project of their own would not do: packages import the sources of the root, which do not keep it yet. Ends with status 1 if
 * there is an error.
 */
import { resolve, sep } from 'node:path'
import ts from 'typescript'

const FOLDERS = ['packages/environment-tools/src', 'packages/environment-desktop/src/screen']

const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile)
const { options, fileNames } = ts.parseJsonConfigFileContent({ ...config, include: FOLDERS }, ts.sys, '.')
const program = ts.createProgram(fileNames, {
  ...options,
  incremental: false,
  tsBuildInfoFile: undefined,
  noUncheckedIndexedAccess: true,
})
const errors = program
  .getSourceFiles()
  .filter(({ fileName }) => FOLDERS.some((folder) => resolve(fileName).startsWith(resolve(folder) + sep)))
  .flatMap((file) => program.getSemanticDiagnostics(file))
const host = {
  getCurrentDirectory: () => process.cwd(),
  getCanonicalFileName: (file: string) => file,
  getNewLine: () => '\n',
}
process.stdout.write(ts.formatDiagnostics(errors, host))
process.stdout.write(`folders=${FOLDERS.length} errors=${errors.length}\n`)
if (errors.length > 0) process.exitCode = 1
