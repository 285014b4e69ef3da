import { RlError } from '../errors.ts'
import type { Command } from './command.ts'

/** Every `rl alfworld` command, loaded when it is called. */
const SUBCOMMANDS: Readonly<Record<string, () => Promise<{ readonly command: Command }>>> = {
  play: () => import('./alfworld/play.ts'),
  verify: () => import('./alfworld/verify.ts'),
  soak: () => import('./alfworld/soak.ts'),
  generate: () => import('./alfworld/generate.ts'),
  download: () => import('./alfworld/download.ts'),
}

export const command: Command = {
  summary: 'text games of ALFWorld: play, verify, soak, generate, download',
  help: `
rl alfworld play --game FILE [--interactive] [--max-steps N]
rl alfworld verify --data DIR TRANSCRIPT...
rl alfworld soak --data DIR [--split NAME]
rl alfworld generate --out DIR --count N --seed S --difficulty easy|medium|hard
rl alfworld download [--file games|json|pddl] [--out DIR] [--sha256 HEX]

rl alfworld <command> --help tells more.`,
  actionsHaveHelp: true,
  async run([name, ...argv]) {
    const load = name !== undefined && Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined
    if (!load)
      throw new RlError(
        name === undefined ? 'a command is missing' : `there is no command 'alfworld ${name}'`,
        {
          code: 'cli.usage',
          hint: 'rl alfworld --help lists them',
        },
      )
    const { command: subcommand } = await load()
    if (!argv.includes('--help') && !argv.includes('-h')) return subcommand.run(argv)
    process.stdout.write(`${subcommand.help.trim()}\n`)
    return 0
  },
}
