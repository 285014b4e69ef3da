import { parseCommandLine, printJson } from '../../command-line.ts'
import type { Command } from '../command.ts'
import { required } from '../model-flags.ts'

export const command: Command = {
  summary: 'what a model folder holds',
  help: `
rl model info --model DIR [--json]

Prints the config, the number of weights, the memory for sampling and for training, and the SHA-256 of the weights.`,
  async run(argv) {
    const { values } = parseCommandLine(
      { options: { model: { type: 'string' }, json: { type: 'boolean', default: false } } },
      argv,
    )
    const { describeFolder } = await import('../../models/local/folder-info.ts')
    const info = await describeFolder(required('--model', values.model))
    if (values.json) printJson(info)
    else
      for (const [key, value] of Object.entries(info))
        process.stdout.write(`${key.padEnd(20)}${shown(value)}\n`)
    return 0
  },
}

function shown(value: unknown): string {
  if (typeof value === 'number') return value.toLocaleString('en')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
