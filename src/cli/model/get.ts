import { resolve } from 'node:path'
import { parseCommandLine } from '../../command-line.ts'
import { RlError } from '../../errors.ts'
import { describeHubModel } from '../../models/hub.ts'
import { fetchCopy, hubFolder, hubOptions, progressLines, sizeAndLicence } from '../../models/hub-folder.ts'
import type { Command } from '../command.ts'

export const command: Command = {
  summary: 'a model folder from a hub',
  help: `
rl model get OWNER/NAME [--to DIR] [--revision main] [--dry-run]

Fetches config, tokenizer and weights (safetensors, else a single GGUF file) into .cache/models/OWNER/NAME or DIR. Prints
size and licence first, and checks every file's digest. After an interruption the same command goes on. HF_ENDPOINT names
another hub or a mirror, HF_TOKEN a token for gated models.`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        allowPositionals: true,
        options: {
          to: { type: 'string' },
          revision: { type: 'string', default: 'main' },
          'dry-run': { type: 'boolean', default: false },
        },
      },
      argv,
    )
    const [name, ...more] = positionals
    if (name === undefined || more.length > 0)
      throw new RlError('one name is needed', { code: 'cli.usage', hint: 'rl model get OWNER/NAME' })
    const options = { ...hubOptions(), revision: values.revision }
    const model = await describeHubModel(name, options)
    process.stdout.write(
      `${name} at ${model.commit.slice(0, 12)}: ${model.files.length} files, ${sizeAndLicence(model)}\n`,
    )
    if (values['dry-run']) return 0
    const folder = resolve(values.to ?? hubFolder(name))
    await fetchCopy(
      model,
      folder,
      options,
      progressLines((line) => process.stderr.write(`${line}\n`)),
    )
    process.stdout.write(`${folder}\n`)
    return 0
  },
}
