import { openWeights, weightsDigest } from './checkpoint.ts'
import type { ModelConfig } from './config.ts'
import { loraShapes, readLoraConfig } from './lora.ts'
import { cacheBytesPerToken, memoryNeed } from './memory.ts'
import { readModelFolder } from './model-folder.ts'
import { parameterCount } from './params.ts'
import type { TensorEntry } from './safetensors.ts'
import { createTokenizer } from './tokenizer.ts'

export type FolderInfo = {
  readonly folder: string
  readonly base: string
  readonly config: ModelConfig
  /** Types of the weights, the one with most values first. Quantised files mix several. */
  readonly dtype: string
  readonly parameters: number
  /** Number of weights that an update changes. */
  readonly trainable: number
  readonly tokenizerSize: number
  readonly weightsBytes: number
  /** Bytes of weights, gradients and AdamW's moments. */
  readonly trainingBytes: number
  readonly cacheBytesPerToken: number
  readonly sha256: string
}

/** Describes a folder without loading its weights. */
export async function describeFolder(path: string): Promise<FolderInfo> {
  const model = await readModelFolder(path)
  const { folder, base, config } = model
  const source = await openWeights(base)
  const dtype = typesOf([...source.entries.values()])
  await source.close()
  const sizes = model.isAdapter
    ? [...loraShapes(config, await readLoraConfig(folder, config)).values()]
    : null
  const parameters = parameterCount(config)
  const trainable = sizes ? sizes.reduce((sum, [a, b]) => sum + a * b, 0) : parameters
  const need = memoryNeed(config, { trainable, cacheBytes: 0, tokens: 0 })
  return {
    folder,
    base,
    config,
    dtype,
    parameters,
    trainable,
    tokenizerSize: createTokenizer(model.tokenizer, folder).size,
    weightsBytes: need.weights,
    trainingBytes: need.weights + need.training,
    cacheBytesPerToken: cacheBytesPerToken(config),
    sha256: await weightsDigest(model),
  }
}

function typesOf(entries: readonly TensorEntry[]): string {
  const values = new Map<string, number>()
  for (const { dtype, shape } of entries)
    values.set(dtype, (values.get(dtype) ?? 0) + shape.reduce((product, size) => product * size, 1))
  return [...values]
    .toSorted(([, a], [, b]) => b - a)
    .map(([dtype]) => dtype)
    .join(', ')
}
