import { existsSync, realpathSync } from 'node:fs'
import { sep } from 'node:path'
import { parseCommandLine } from '../../command-line.ts'
import { RlError } from '../../errors.ts'
import type { WeightDtype } from '../../models/local/safetensors.ts'
import type { Command } from '../command.ts'
import { required } from '../model-flags.ts'

const DTYPES: readonly WeightDtype[] = ['F32', 'F16', 'BF16']

export const command: Command = {
  summary: 'a Hugging Face folder of a model, adapters merged or as they are',
  help: `
rl model export --model DIR --out DIR [--dtype F32|F16|BF16] [--adapter]

Merges an adapter into its base model, and leaves out the optimiser's state. With --adapter the adapter stays an adapter
on its base.`,
  async run(argv) {
    const { values } = parseCommandLine(
      {
        options: {
          model: { type: 'string' },
          out: { type: 'string' },
          dtype: { type: 'string', default: 'F32' },
          adapter: { type: 'boolean', default: false },
        },
      },
      argv,
    )
    const dtype = DTYPES.find((name) => name === values.dtype.toUpperCase())
    if (!dtype)
      throw new RlError(`--dtype is '${values.dtype}'`, {
        code: 'cli.usage',
        hint: `use ${DTYPES.join(', ')}`,
      })
    const { readModelFolder } = await import('../../models/local/model-folder.ts')
    const { exportAdapter, exportFolder } = await import('../../models/local/export-folder.ts')
    const out = required('--out', values.out)
    const model = required('--model', values.model)
    const { folder, base } = await readModelFolder(model)
    const lost = [folder, base].find((source) => liesIn(source, out))
    if (lost !== undefined)
      throw new RlError(`--out is ${out}, ${lost === folder ? 'the model itself' : "the model's base"}`, {
        code: 'cli.usage',
        hint: 'name another folder: the model would be lost',
      })
    const write = values.adapter ? exportAdapter : exportFolder
    const sha256 = await write(model, out, dtype)
    process.stdout.write(`${out}  sha256 ${sha256}\n`)
    return 0
  },
}

function liesIn(source: string, out: string): boolean {
  if (!existsSync(source) || !existsSync(out)) return false
  const [inner, outer] = [realpathSync(source), realpathSync(out)]
  return inner === outer || inner.startsWith(`${outer}${sep}`)
}
