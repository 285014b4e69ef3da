/**
 * Low-rank adapters (LoRA, arXiv 2106.09685) in the layout of Hugging Face's PEFT: adapter_config.json and
 * adapter_model.safetensors with `base_model.model.<module>.lora_A.weight` [rank, in] and `lora_B.weight` [out, rank].
 * The adapted weight is W + scale B A, scale = alpha / rank.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { RlError } from '../../errors.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import type { ModelConfig } from './config.ts'
import { paramShapes } from './params.ts'
import { type NamedTensor, openSafetensors, type WeightDtype, writeSafetensors } from './safetensors.ts'

export const LORA_TARGETS = [
  'q_proj',
  'k_proj',
  'v_proj',
  'o_proj',
  'gate_proj',
  'up_proj',
  'down_proj',
] as const

export type LoraConfig = {
  readonly rank: number
  readonly alpha: number
  /** Last parts of module names, e.g. `q_proj`. */
  readonly targets: readonly string[]
}

export type Adapter = {
  readonly lora: LoraConfig
  /** By internal names, without PEFT's prefix. */
  readonly tensors: readonly NamedTensor[]
}

const PREFIX = 'base_model.model.'

export function loraScale({ alpha, rank }: LoraConfig): number {
  return alpha / rank
}

/** Name and shape of the adapter's weights, in checkpoint order. */
export function loraShapes(config: ModelConfig, lora: LoraConfig): Map<string, readonly [number, number]> {
  const shapes = new Map<string, readonly [number, number]>()
  for (const [name, [out, width]] of paramShapes(config)) {
    const module = name.replace(/\.weight$/, '')
    if (module === name || !lora.targets.some((target) => module.endsWith(`.${target}`))) continue
    shapes.set(`${module}.lora_A.weight`, [lora.rank, width])
    shapes.set(`${module}.lora_B.weight`, [out, lora.rank])
  }
  if (shapes.size === 0)
    throw new RlError(`no module is named ${lora.targets.join(' or ')}`, {
      code: 'model.lora',
      hint: `choose from ${LORA_TARGETS.join(', ')}`,
    })
  return shapes
}

/** A fresh adapter that changes nothing: A uniform in +-1/sqrt(in) as in PEFT, B zero. */
export function initLora(config: ModelConfig, lora: LoraConfig, seed: Seed): Adapter {
  const tensors = [...loraShapes(config, lora)].map(([name, shape]) => {
    const values = new Float32Array(shape[0] * shape[1])
    if (name.endsWith('lora_A.weight')) {
      const { uniform } = rng(seedOf(seed, name))
      const bound = 1 / Math.sqrt(shape[1])
      for (let i = 0; i < values.length; i++) values[i] = (2 * uniform() - 1) * bound
    }
    return { name, shape, values }
  })
  return { lora, tensors }
}

const configSchema = z.object({
  peft_type: z.literal('LORA'),
  r: z.number().int().positive(),
  lora_alpha: z.number().positive(),
  target_modules: z.union([z.string(), z.array(z.string())]),
  base_model_name_or_path: z.string().nullish(),
  bias: z.literal('none').default('none'),
  fan_in_fan_out: z.literal(false).default(false),
  use_dora: z.literal(false).default(false),
  use_rslora: z.boolean().default(false),
  modules_to_save: z.null().or(z.array(z.never())).optional(),
  rank_pattern: z.record(z.string(), z.never()).nullish(),
  alpha_pattern: z.record(z.string(), z.never()).nullish(),
})

/** adapter_config.json: the adapter's shape and the base model that it names. */
export async function readAdapterConfig(folder: string): Promise<{ lora: LoraConfig; base: string | null }> {
  const path = join(folder, 'adapter_config.json')
  let json: unknown
  try {
    json = JSON.parse(await readFile(path, 'utf8'))
  } catch (cause) {
    throw new RlError(`${path} cannot be read`, { code: 'model.lora', cause })
  }
  const parsed = configSchema.safeParse(json)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new RlError(`${path}: ${issue.path.join('.')}: ${issue.message}`, {
      code: 'model.lora',
      hint: 'plain LoRA on linear layers is implemented: merge another kind of adapter with PEFT first',
    })
  }
  const { r: rank, lora_alpha, use_rslora, target_modules, base_model_name_or_path } = parsed.data
  const alpha = use_rslora ? lora_alpha * Math.sqrt(rank) : lora_alpha
  const targets =
    target_modules === 'all-linear'
      ? LORA_TARGETS
      : [target_modules].flat().map((name) => name.split('.').at(-1)!)
  return { lora: { rank, alpha, targets }, base: base_model_name_or_path ?? null }
}

/** @throws RlError `model.lora` where the weights are not those that the configs ask for. */
export async function readAdapter(folder: string, config: ModelConfig): Promise<Adapter> {
  const { lora } = await readAdapterConfig(folder)
  const path = join(folder, 'adapter_model.safetensors')
  const file = await openSafetensors(path)
  try {
    const shapes = loraShapes(config, lora)
    const tensors: NamedTensor[] = []
    for (const [name, shape] of shapes) {
      const found = file.entries.get(PREFIX + name)?.shape
      if (found?.join() !== shape.join())
        throw new RlError(`${path}: ${PREFIX + name} is [${found ?? 'missing'}], expected [${shape}]`, {
          code: 'model.lora',
          hint: 'the adapter must belong to this base model',
        })
      tensors.push({ name, shape, values: await file.read(PREFIX + name) })
    }
    const stranger = [...file.entries.keys()].find((name) => !shapes.has(name.slice(PREFIX.length)))
    if (stranger !== undefined)
      throw new RlError(`${path}: ${stranger} belongs to no target module`, { code: 'model.lora' })
    return { lora, tensors }
  } finally {
    await file.close()
  }
}

/** Writes both files into an existing folder. Resolves to the SHA-256 of the weights file. */
export async function writeAdapter(
  folder: string,
  { lora, tensors }: Adapter,
  { base, dtype }: { readonly base: string | null; readonly dtype?: WeightDtype },
): Promise<string> {
  const config = {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: base,
    r: lora.rank,
    lora_alpha: lora.alpha,
    lora_dropout: 0,
    target_modules: lora.targets,
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
  }
  await writeFile(join(folder, 'adapter_config.json'), `${JSON.stringify(config, null, 2)}\n`)
  const prefixed = tensors.map((tensor) => ({ ...tensor, name: PREFIX + tensor.name }))
  const { sha256 } = await writeSafetensors(join(folder, 'adapter_model.safetensors'), prefixed, { dtype })
  return sha256
}

/** The weight with its adapter: a new array W + scale B A, rows of length `width`. */
export function mergeLora(
  weight: Float32Array, // [out, width]
  a: Float32Array, // [rank, width]
  b: Float32Array, // [out, rank]
  { rank, scale }: { readonly rank: number; readonly scale: number },
): Float32Array {
  const merged = Float32Array.from(weight)
  const width = a.length / rank
  for (let row = 0; row < b.length / rank; row++)
    for (let r = 0; r < rank; r++) {
      const factor = scale * b[row * rank + r]
      if (factor === 0) continue
      for (let column = 0; column < width; column++)
        merged[row * width + column] += factor * a[r * width + column]
    }
  return merged
}
