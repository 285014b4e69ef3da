import { RlError } from '../../errors.ts'
import { adapterOf, readCheckpoint, writeModelFolder } from './checkpoint.ts'
import { loraScale, mergeLora } from './lora.ts'
import { readModelFolder } from './model-folder.ts'
import { paramShapes } from './params.ts'
import type { WeightDtype } from './safetensors.ts'

/**
 * Writes a model as a complete Hugging Face folder, with merged adapters and without optimiser state. Resolves to the SHA-256 of the
 * weights.
 */
export async function exportFolder(from: string, to: string, dtype: WeightDtype): Promise<string> {
  const folder = await readModelFolder(from)
  const { weights, adapter } = await readCheckpoint(folder, { optimizer: false })
  const lowRank = new Map(adapter?.tensors.map(({ name, values }) => [name, values]))
  const tensors = [...paramShapes(folder.config)].map(([name, shape]) => {
    const module = name.replace(/weight$/, '')
    const a = lowRank.get(`${module}lora_A.weight`)
    const b = lowRank.get(`${module}lora_B.weight`)
    const base = weights.get(name)!
    const values =
      adapter && a && b
        ? mergeLora(base, a, b, { rank: adapter.lora.rank, scale: loraScale(adapter.lora) })
        : base
    return { name, shape, values }
  })
  return await writeModelFolder(to, {
    config: folder.config,
    generation: folder.generation,
    tokenizer: folder.tokenizer,
    weights: tensors,
    dtype,
  })
}

/**
 * Writes only an adapter, without optimiser state. It names the same base as here. Resolves to the SHA-256 of its weights.
 * @throws RlError `model.lora` if the folder is no adapter
 */
export async function exportAdapter(from: string, to: string, dtype: WeightDtype): Promise<string> {
  const folder = await readModelFolder(from)
  const adapter = await adapterOf(folder)
  if (!adapter)
    throw new RlError(`${folder.folder} holds a whole model and no adapter`, {
      code: 'model.lora',
      hint: 'export it without --adapter',
    })
  return await writeModelFolder(to, {
    config: folder.config,
    tokenizer: folder.tokenizer,
    weights: [],
    dtype,
    adapter: { adapter, base: folder.base },
  })
}
