import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import { parseCommandLine } from '../command-line.ts'
import { RlError } from '../errors.ts'
import type { Command } from './command.ts'

const TEST = /\.test\.[cm]?[jt]s$/
const SKIPPED = new Set(['node_modules', 'dist', 'runs'])

export const command: Command = {
  summary: 'runs the tests of this folder with a Node that reads TypeScript',
  help: `
rl test [FILE...]   node --test over FILE..., or over all *.test.ts, .mts, .js and .mjs of this folder

An older Node alone finds no test in TypeScript and ends with 0. So this takes the Node that runs everything else, and a
folder without a test is an error.`,
  async run(argv) {
    const { positionals } = parseCommandLine({ options: {}, allowPositionals: true }, argv)
    const files = positionals.length > 0 ? positionals : testsIn('.')
    if (files.length === 0)
      throw new RlError(`there is no test in ${process.cwd()}`, {
        code: 'test.none',
        hint: 'the name of a test file ends with .test.ts',
      })
    const reads = process.features.typescript ? [] : ['--experimental-strip-types']
    const child = spawn(process.execPath, [...reads, '--test', ...files], { stdio: 'inherit' })
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (status) => resolve(status ?? 1))
    })
  },
}

function testsIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => TEST.test(path) && !path.split(sep).some((part) => SKIPPED.has(part)))
    .map((path) => join(folder, path))
    .sort()
}
