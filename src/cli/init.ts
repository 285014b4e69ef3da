import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { parseCommandLine } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { PACKAGE_ROOT, SOURCES } from '../package.ts'
import type { Command } from './command.ts'
import { dependencySpec } from './dependency-spec.ts'

/**
 * Files of the new project, which trains at once. npm packs no file of the name .gitignore.
 */
const KINDS = {
  environment: { files: 'project', next: 'npm install && npm test && npm start' },
  agent: { files: 'agent', next: 'npm install && npm run train' },
} as const
const WITH_NAMES = ['package.json', 'README.md']

export const command: Command = {
  summary:
    'writes a project of your own: an environment with its config and its test, or an agent with its tasks',
  help: `
rl init FOLDER            an environment
rl init --agent FOLDER    an agent that is trained (docs/agents.md)

Writes package.json, tsconfig.json, environment.ts, environment.test.ts, config.yaml and README.md into a new or empty
folder. Then run in it: npm install, npm test, npm start.

With --agent it writes package.json, agent.ts, tasks.jsonl, grade.ts and README.md. Then run in it: npm install,
npm run train.`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      { options: { agent: { type: 'boolean', default: false } }, allowPositionals: true },
      argv,
    )
    const kind = KINDS[values.agent ? 'agent' : 'environment']
    const [given] = positionals
    if (given === undefined || positionals.length !== 1)
      throw new RlError('expected one folder', { code: 'cli.usage', hint: 'rl init my-project' })
    const folder = resolve(given)
    if (existsSync(folder) && readdirSync(folder).length > 0)
      throw new RlError(`${folder} is not empty`, {
        code: 'init.not-empty',
        hint: 'name a new folder: nothing is overwritten',
      })
    mkdirSync(folder, { recursive: true })
    cpSync(join(PACKAGE_ROOT, 'data', kind.files), folder, { recursive: true })
    renameSync(join(folder, 'gitignore'), join(folder, '.gitignore'))
    const names = { name: nameOf(folder), package: dependencySpec(), ...versions() }
    for (const file of WITH_NAMES) fill(join(folder, file), names)
    const lines = [
      `wrote ${readdirSync(folder).join(', ')}`,
      ...(SOURCES ? [`this is a checkout: npm run build there first, in ${PACKAGE_ROOT}`] : []),
      `next: cd ${relative('', folder) || '.'} && ${kind.next}`,
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
      .replace(/^-+|-+$/g, '') || 'my-project'
  )
}

/** Versions that this package was checked with: the compiler, the types of Node and the client of OpenAI. */
function versions(): Readonly<Record<'types' | 'typescript' | 'openai', string>> {
  type Versions = Readonly<Record<'@types/node' | 'typescript' | 'openai', string>>
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8'),
  ) as { dependencies: Versions; devDependencies: Versions }
  return {
    types: devDependencies['@types/node'],
    typescript: devDependencies.typescript,
    openai: dependencies.openai,
  }
}

function fill(file: string, values: Readonly<Record<string, string>>): void {
  const text = readFileSync(file, 'utf8').replace(/\{\{([a-z]+)\}\}/g, (whole, key) => values[key] ?? whole)
  writeFileSync(file, text)
}
