import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { parseCommandLine } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { PACKAGE_ROOT, SOURCES } from '../package.ts'
import type { Command } from './command.ts'
import { dependencySpec } from './dependency-spec.ts'

/**
 * Files of the new project, which trains and passes its test at once. npm packs no file of the name
 * .gitignore.
 */
const TEMPLATE = join(PACKAGE_ROOT, 'data', 'project')
const WITH_NAMES = ['package.json', 'README.md']

export const command: Command = {
  summary: 'writes a project of your own: an environment, its config and its test',
  help: `
rl init FOLDER

Writes package.json, tsconfig.json, environment.ts, environment.test.ts, config.yaml and README.md into a new or empty
folder. Then run in it: npm install, npm test, npm start.`,
  async run(argv) {
    const { positionals } = parseCommandLine({ options: {}, allowPositionals: true }, argv)
    if (positionals.length !== 1)
      throw new RlError('expected one folder', { code: 'cli.usage', hint: 'rl init my-project' })
    const folder = resolve(positionals[0])
    if (existsSync(folder) && readdirSync(folder).length > 0)
      throw new RlError(`${folder} is not empty`, {
        code: 'init.not-empty',
        hint: 'name a new folder: nothing is overwritten',
      })
    mkdirSync(folder, { recursive: true })
    cpSync(TEMPLATE, folder, { recursive: true })
    renameSync(join(folder, 'gitignore'), join(folder, '.gitignore'))
    const names = { name: nameOf(folder), package: dependencySpec(), ...compilers() }
    for (const file of WITH_NAMES) fill(join(folder, file), names)
    const lines = [
      `wrote ${readdirSync(folder).join(', ')}`,
      ...(SOURCES ? [`this is a checkout: npm run build there first, in ${PACKAGE_ROOT}`] : []),
      `next: cd ${relative('', folder) || '.'} && npm install && npm test && npm start`,
    ]
    process.stdout.write(`${lines.join('\n')}\n`)
    return 0
  },
}

/** The folder's name as npm allows it. */
function nameOf(folder: string): string {
  return (
    basename(folder)
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '') || 'my-environment'
  )
}

/** The compiler and the types of Node that this package was checked with. */
function compilers(): Readonly<Record<'types' | 'typescript', string>> {
  const { devDependencies } = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')) as {
    devDependencies: Readonly<Record<string, string>>
  }
  return { types: devDependencies['@types/node'], typescript: devDependencies.typescript }
}

function fill(file: string, values: Readonly<Record<string, string>>): void {
  const text = readFileSync(file, 'utf8').replace(/\{\{([a-z]+)\}\}/g, (whole, key) => values[key] ?? whole)
  writeFileSync(file, text)
}
