/** Compares command lines with what the commands of this project really take, by asking them. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ROLES } from '../../src/events/envelope.ts'
import type { CommandLine } from './command-lines.ts'
import { withValues } from './shell-words.ts'

const KINDS: readonly string[] = [...ROLES, 'executor']

export type RealCli = {
  /** Why a command line is wrong, or null. */
  readonly faultOf: (line: CommandLine) => string | null
  readonly close: () => void
}

export function openRealCli(): RealCli {
  // Nothing may be found here: a command that looks at runs finds none.
  const runs = mkdtempSync(join(tmpdir(), 'rl-deploy-runs-'))
  const answers = new Map<string, { status: number | null; text: string }>()

  function ask(words: readonly string[]): { status: number | null; text: string } {
    const key = JSON.stringify(words)
    const known = answers.get(key)
    if (known !== undefined) return known
    const env = { ...process.env, RL_RUNS: runs, NATS_URL: '' }
    const script = [resolve('bin/launch.mjs'), 'src/rl.ts', ...words]
    const { status, stdout, stderr } = spawnSync(process.execPath, script, { encoding: 'utf8', env })
    const answer = { status, text: `${stdout}${stderr}`.trim() }
    answers.set(key, answer)
    return answer
  }

  const helpOf = (...command: readonly string[]) => ask([...command, '--help']).text
  const isCommand = (name: string) => new RegExp(`^  ${name}  `, 'm').test(helpOf())

  function faultOfRl([command, ...given]: readonly string[]): string | null {
    if (command === undefined || command === '--help') return null
    if (!isCommand(command)) return `rl has no command '${command}'`
    const flags = flagsIn(helpOf(command))
    const words = given.map(withValues)
    const unknown = flagsOf(words).find((flag) => !flags.has(flag))
    if (unknown !== undefined) return `rl ${command} has no flag ${unknown}`
    return wrongRole(words) ?? tried(command, words)
  }

  /** A head tells its plan, a probe finds nothing, and others print their help: all of them read the words first. */
  function tried(command: string, words: readonly string[]): string | null {
    const isHead = command === 'start' && words[words.indexOf('--role') + 1] === 'head'
    const last = isHead ? '--dry-run' : '--help'
    const asked = [command, ...words, ...(command === 'alive' || words.includes(last) ? [] : [last])]
    const { status, text } = ask(asked)
    if (status === 0 || (command === 'alive' && status === 1)) return null
    return text.split('\n').at(-1) ?? `rl ${command} ended with status ${status}`
  }

  return {
    faultOf({ program, words }) {
      if (program === 'rl') return faultOfRl(words)
      if (program === 'npm') return faultOfNpm(words)
      const flags = trainerFlags()
      const unknown = flagsOf(words).find((flag) => !flags.has(flag))
      return unknown === undefined
        ? wrongRole(words.map(withValues))
        : `rlanything-trainer has no flag ${unknown}`
    },
    close: () => rmSync(runs, { recursive: true, force: true }),
  }
}

function faultOfNpm([script = '']: readonly string[]): string | null {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  return Object.hasOwn(scripts, script) ? null : `package.json has no script '${script}'`
}

/** The trainer is Python's: its flags are read in its source. */
function trainerFlags(): ReadonlySet<string> {
  const text = readFileSync('integrations/torch/rlanything_trainer/cli.py', 'utf8')
  return new Set([...text.matchAll(/add_argument\("(--[a-z-]+)"/g)].map(([, flag = '']) => flag))
}

function flagsIn(text: string): ReadonlySet<string> {
  return new Set(text.match(/--[a-z][a-z-]*/g) ?? [])
}

function flagsOf(words: readonly string[]): readonly string[] {
  return words.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0] ?? word)
}

function wrongRole(words: readonly string[]): string | null {
  const at = words.indexOf('--role')
  const role = words[at + 1] ?? ''
  return at < 0 || role === 'main' || KINDS.includes(role) ? null : `'${role}' is no role`
}
