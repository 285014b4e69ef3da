import { RlError } from '../errors.ts'
import { ownValue } from '../own-value.ts'
import type { Command } from './command.ts'

/** Every `rl model` command, loaded when it is called. */
const SUBCOMMANDS: Readonly<Record<string, () => Promise<{ readonly command: Command }>>> = {
  get: () => import('./model/get.ts'),
  info: () => import('./model/info.ts'),
  sample: () => import('./model/sample.ts'),
  generate: () => import('./model/generate.ts'),
  sft: () => import('./model/sft.ts'),
  export: () => import('./model/export.ts'),
}

export const command: Command = {
  summary: 'local models: get (from a hub), info, sample, generate, sft (supervised fine-tuning), export',
  help: `
rl model get OWNER/NAME
rl model info --model DIR [--json]
rl model sample --model DIR --prompt TEXT | --chat TEXT
rl model generate --model PATH --prompts FILE.jsonl --tokens 32
rl model sft --model DIR | --config tiny --data FILE.jsonl --out DIR
rl model export --model DIR --out DIR [--dtype F32|F16|BF16]

rl model <command> --help tells more.`,
  actionsHaveHelp: true,
  async run([name, ...argv]) {
    const load = name === undefined ? undefined : ownValue(SUBCOMMANDS, name)
    if (!load)
      throw new RlError(name === undefined ? 'a command is missing' : `there is no command 'model ${name}'`, {
        code: 'cli.usage',
        hint: 'rl model --help lists them',
      })
    const { command: subcommand } = await load()
    if (!argv.includes('--help') && !argv.includes('-h')) return subcommand.run(argv)
    process.stdout.write(`${subcommand.help.trim()}\n`)
    return 0
  },
}
