import './setting-packages.ts'
import type { Command } from './cli/command.ts'
import { forTerminal } from './command-line.ts'
import { explain, RlError } from './errors.ts'
import { ownValue } from './own-value.ts'
import { endWithoutReaders, exitWhenWritten, goOnWithoutReaders } from './platform/output.ts'
import { brief } from './user-code.ts'

/** Every `rl` command. A command is loaded when it is called. */
const COMMANDS: Readonly<Record<string, () => Promise<{ readonly command: Command }>>> = {
  init: () => import('./cli/init.ts'),
  test: () => import('./cli/test.ts'),
  start: () => import('./cli/start.ts'),
  ui: () => import('./cli/ui.ts'),
  report: () => import('./cli/report.ts'),
  runs: () => import('./cli/runs.ts'),
  status: () => import('./cli/status.ts'),
  join: () => import('./cli/join.ts'),
  alive: () => import('./cli/alive.ts'),
  head: () => import('./cli/head.ts'),
  pause: () => import('./cli/pause.ts'),
  resume: () => import('./cli/resume.ts'),
  log: () => import('./cli/log.ts'),
  restore: () => import('./cli/restore.ts'),
  doctor: () => import('./cli/doctor.ts'),
  projections: () => import('./cli/projections.ts'),
  model: () => import('./cli/model.ts'),
  serve: () => import('./cli/serve.ts'),
  weights: () => import('./cli/weights.ts'),
  train: () => import('./cli/train.ts'),
  gateway: () => import('./cli/gateway.ts'),
  trainer: () => import('./cli/trainer.ts'),
  replay: () => import('./cli/replay.ts'),
  fork: () => import('./cli/fork.ts'),
  diff: () => import('./cli/diff.ts'),
  why: () => import('./cli/why.ts'),
  rescore: () => import('./cli/rescore.ts'),
  audit: () => import('./cli/audit.ts'),
  curriculum: () => import('./cli/curriculum.ts'),
  whatif: () => import('./cli/whatif.ts'),
  ask: () => import('./cli/ask.ts'),
  'compare-judges': () => import('./cli/compare-judges.ts'),
  export: () => import('./cli/export.ts'),
  sql: () => import('./cli/sql.ts'),
  attest: () => import('./cli/attest.ts'),
  ablate: () => import('./cli/ablate.ts'),
  eval: () => import('./cli/eval.ts'),
  verify: () => import('./cli/verify.ts'),
}

/** Former names of commands, which still work. */
const FORMER: Readonly<Record<string, string>> = { rm: 'compare-judges' }

async function main([called, ...argv]: readonly string[]): Promise<number> {
  if (called === undefined || called === 'help' || called === '--help' || called === '-h') return printHelp()
  const name = ownValue(FORMER, called) ?? called
  const load = ownValue(COMMANDS, name)
  const command = load
    ? (await load()).command
    : await (await import('./cli/setting.ts')).commandOfSetting(name)
  if (!command)
    throw new RlError(`there is no command '${name}'`, { code: 'cli.usage', hint: 'rl --help lists them' })
  const words = command.actionsHaveHelp ? argv.slice(0, 1) : argv
  if (words.includes('--help') || words.includes('-h')) {
    endWithoutReaders('rl')
    process.stdout.write(`${command.help.trim()}\n`)
    return 0
  }
  if (command.serves) goOnWithoutReaders()
  else endWithoutReaders('rl')
  return command.run(argv)
}

async function printHelp(): Promise<number> {
  endWithoutReaders('rl')
  const commands = Object.entries(COMMANDS)
  const width = Math.max(0, ...commands.map(([name]) => name.length))
  const line = (name: string, summary: string) => `  ${name.padEnd(width)}  ${summary}`
  const lines = ['rl <command> [options]', '']
  for (const [name, load] of commands) lines.push(line(name, (await load()).command.summary))
  lines.push('', 'Of settings (yours: rl <its name>, where config.yaml names it, or rl ./its-file.ts):')
  const { commandOfSetting } = await import('./cli/setting.ts')
  const { loadInstalled } = await import('./environments/settings.ts')
  const broken: string[] = []
  const settings = await loadInstalled((error) => broken.push(`  ${forTerminal(brief(error.message, 300))}`))
  for (const { name } of settings) {
    const command = await commandOfSetting(name)
    if (command) lines.push(line(name, command.summary))
  }
  lines.push(...broken)
  lines.push('', 'rl <command> --help tells more.')
  process.stdout.write(`${lines.join('\n')}\n`)
  return 0
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`rl: ${forTerminal(explain(error))}\n`)
  process.exitCode = error instanceof RlError && error.code === 'cli.usage' ? 2 : 1
  // What a failed command left open keeps the process for at most this time.
  setTimeout(exitWhenWritten, 1_000).unref()
}
