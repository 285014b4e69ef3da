/**
 * A project of a stranger, in a temporary folder. The package is installed in it, and the examples are copied
 * beside it.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'

export type Project = {
  readonly folder: string
  /**
   * Environment of its processes: this Node comes first on the PATH, and no variable of this checkout is
   * left.
   */
  readonly env: NodeJS.ProcessEnv
  readonly remove: () => void
}

/** An empty project with the examples. */
export function emptyProject(): Project {
  const folder = mkdtempSync(join(tmpdir(), 'rl-project-'))
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
  cpSync('examples', join(folder, 'examples'), { recursive: true })
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  // A stranger does not have the variables that start a checkout from its sources.
  const { RL_RUNS, NODE_OPTIONS, ...env } = process.env
  return {
    folder,
    env: {
      ...env,
      PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`,
    },
    remove,
  }
}

/**
 * Makes a project with what `npm pack` would ship, as last built. Its dependencies are those of this
 * checkout, so no registry is asked.
 */
export function projectWithBuild(): Project {
  const project = emptyProject()
  const target = join(project.folder, 'node_modules', 'rlanything')
  mkdirSync(target, { recursive: true })
  const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: readonly string[] }
  for (const name of ['package.json', ...files.filter((name) => !/[*!]/.test(name))])
    cpSync(name, join(target, name), { recursive: true })
  symlinkSync(resolve('node_modules'), join(target, 'node_modules'), 'dir')
  const bin = join(project.folder, 'node_modules', '.bin')
  mkdirSync(bin)
  symlinkSync(join('..', 'rlanything', 'bin', 'rl.mjs'), join(bin, 'rl'))
  return project
}
