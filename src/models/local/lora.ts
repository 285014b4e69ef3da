/**
 * Low-rank adapters (LoRA, arXiv 2106.09685) in the layout of Hugging Face's PEFT. The files are adapter_config.json
 * and adapter_model.safetensors with `base_model.model.<module>.lora_A.weight` [rank, in] and `lora_B.weight` [out,
 * rank]. The adapted weight is W + scale B A, with scale = alpha / rank.
 */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { RlError } from '../../errors.ts'
import { itemAt } from '../../item-at.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import { firstIssue, safeParse } from '../../safe-parse.ts'
import { readText } from '../../text-file.ts'
import type { ModelConfig } from './config.ts'
import { refusePointer } from './lfs-pointer.ts'
import { LORA_TARGETS, namedModules, type Targets, targetKeys } from './lora-targets.ts'
import { paramShapes } from './params.ts'
import { type NamedTensor, openSafetensors, type WeightDtype, writeSafetensors } from './safetensors.ts'

export type LoraConfig = {
  readonly rank: number
  readonly alpha: number
  /** Names of modules, or last parts of names, e.g. `q_proj`. */
  readonly targets: readonly string[]
}

export type Adapter = {
  readonly lora: LoraConfig
  /** Tensors by internal names, without PEFT's prefix. */
  readonly tensors: readonly NamedTensor[]
}

const PREFIX = 'base_model.model.'
const CONFIG = 'adapter_config.json'
const WEIGHTS = 'adapter_model.safetensors'

export function loraScale({ alpha, rank }: LoraConfig): number {
  return alpha / rank
}

/** Returns the transformer's linear layers with their shapes [out, in]. Adapters are possible on these. */
function linearModules(config: ModelConfig): Map<string, readonly [number, number]> {
  const modules = new Map<string, readonly [number, number]>()
  for (const [name, shape] of paramShapes(config)) {
    const module = /^(model\.layers\..*_proj)\.weight$/.exec(name)?.[1]
    if (module !== undefined) modules.set(module, [itemAt(shape, 0), itemAt(shape, 1)])
  }
  return modules
}

/** Returns name and shape of the adapter's weights, in checkpoint order. @throws RlError `model.lora` for a target that is no module */
export function loraShapes(config: ModelConfig, lora: LoraConfig): Map<string, readonly [number, number]> {
  const shapes = new Map<string, readonly [number, number]>()
  const isNamed = (module: string, target: string) => module === target || module.endsWith(`.${target}`)
  const modules = linearModules(config)
  const unknown = lora.targets.filter((target) => ![...modules.keys()].some((name) => isNamed(name, target)))
  if (unknown.length > 0)
    throw new RlError(`no module is named ${unknown.join(' or ')}`, {
      code: 'model.lora',
      hint: `choose from ${LORA_TARGETS.join(', ')}`,
    })
  for (const [module, [out, width]] of modules) {
    if (!lora.targets.some((target) => isNamed(module, target))) continue
    shapes.set(`${module}.lora_A.weight`, [lora.rank, width])
    shapes.set(`${module}.lora_B.weight`, [out, lora.rank])
  }
  return shapes
}

/** Returns a fresh adapter that changes nothing: A is uniform in +-1/sqrt(in) as in PEFT, B is zero. */
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

/** Initialisations of A and B that change only A and B. Others also change the base's weights (PiSSA, OLoRA, CorDA, LoftQ). */
const HARMLESS_STARTS: readonly (string | boolean)[] = [true, false, 'gaussian', 'orthogonal', 'eva']

/** Keys about the adapter's training or its authors. */
const WITHOUT_EFFECT = [
  ...[
    'auto_mapping',
    'task_type',
    'lora_dropout',
    'inference_mode',
    'peft_version',
    'megatron_core',
    'eva_config',
  ],
  ...['runtime_config', 'qalora_group_size', 'ensure_weight_tying', 'base_model_class', 'parent_library'],
]

const configSchema = z.looseObject({
  peft_type: z.literal('LORA'),
  r: z.number().int().positive(),
  lora_alpha: z.number().positive(),
  base_model_name_or_path: z.string().nullish(),
  revision: z.string().nullish(),
  bias: z.literal('none').default('none'),
  init_lora_weights: z
    .union([z.boolean(), z.string()])
    .refine((start) => HARMLESS_STARTS.includes(start), {
      error: ({ input }) => `${JSON.stringify(input)} may change the weights of the base model`,
    })
    .nullish(),
  use_rslora: z.boolean().default(false),
  ...targetKeys,
})

/** The content of adapter_config.json. */
export type AdapterConfig = {
  readonly rank: number
  /** Alpha of plain LoRA. For rank-stabilised adapters (arXiv 2312.03732) it is their alpha times sqrt(rank). */
  readonly alpha: number
  /** Name of the base model in the file. */
  readonly base: string | null
  /** Revision of the base on a hub. Null accepts any. */
  readonly revision: string | null
  readonly targets: Targets
}

/** @throws RlError `model.lora` for anything beyond plain LoRA: no unknown key is ignored */
export async function readAdapterConfig(folder: string): Promise<AdapterConfig> {
  const path = join(folder, CONFIG)
  const refuse = (message: string, cause?: unknown) =>
    new RlError(`${path}: ${message}`, {
      code: 'model.lora',
      hint: 'plain LoRA on linear layers is implemented: merge another kind of adapter with PEFT first',
      cause,
    })
  let json: unknown
  try {
    const text = await readText(path)
    refusePointer(Buffer.from(text), path, 'model.lora')
    json = JSON.parse(text)
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw refuse('it cannot be read', cause)
  }
  const parsed = safeParse(configSchema, json)
  if (!parsed.success) {
    const issue = firstIssue(parsed.error)
    throw refuse(`${issue.path.join('.')}: ${issue.message}`)
  }
  for (const [key, value] of Object.entries(parsed.data))
    if (!(key in configSchema.shape) && !WITHOUT_EFFECT.includes(key) && !asksNothing(value))
      throw refuse(`${key}: ${JSON.stringify(value)?.slice(0, 100)} is not implemented`)
  if (typeof parsed.data.target_modules === 'string' && parsed.data.layers_to_transform?.length)
    throw refuse(
      'layers_to_transform: one expression for the whole names of modules has no layers to choose from',
    )
  const { r: rank, lora_alpha, use_rslora, base_model_name_or_path, revision } = parsed.data
  const alpha = use_rslora ? lora_alpha * Math.sqrt(rank) : lora_alpha
  return {
    rank,
    alpha,
    base: base_model_name_or_path ?? null,
    revision: revision && revision !== 'main' ? revision : null,
    targets: parsed.data,
  }
}

/** Returns whether a value has no effect: null, false, "" or an empty list or map. */
function asksNothing(value: unknown): boolean {
  if (value === null || value === false || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/**
 * Returns the adapter's shape. Its modules are those of its weights: all ways to choose modules (lists, patterns, layers, exclusions)
 * result in them. Only headers are read.
 * @throws RlError `model.lora` for a tensor of no linear layer, of a layer that adapter_config.json does not name (PEFT ignores it),
 * without its partner, or of another shape
 */
export async function readLoraConfig(folder: string, config: ModelConfig): Promise<LoraConfig> {
  const { rank, alpha, targets } = await readAdapterConfig(folder)
  const modules = linearModules(config)
  const named = namedModules([...modules.keys()], targets, join(folder, CONFIG))
  const path = join(folder, WEIGHTS)
  const file = await openSafetensors(path)
  const found = new Map<string, number>()
  try {
    for (const [name, { shape }] of file.entries) {
      const refuse = (why: string, hint?: string) =>
        new RlError(`${path}: ${name} ${why}`, { code: 'model.lora', hint })
      const [, module = '', part] = /^base_model\.model\.(.+)\.lora_([AB])\.weight$/.exec(name) ?? []
      const base = modules.get(module)
      if (base === undefined) {
        const [why, hint] = oddName(name, modules)
        throw refuse(why, hint)
      }
      const expected = part === 'A' ? [rank, base[1]] : [base[0], rank]
      if (shape.join() !== expected.join())
        throw refuse(`is [${shape}], expected [${expected}]`, 'the adapter must belong to this base model')
      if (!named.has(module))
        throw refuse('is of a module that adapter_config.json does not name', TARGETS_HINT)
      found.set(module, (found.get(module) ?? 0) + 1)
    }
  } finally {
    await file.close()
  }
  const lonely = [...found].find(([, count]) => count !== 2)
  if (found.size === 0 || lonely)
    throw new RlError(
      `${path}: ${lonely ? `${lonely[0]} has only one of lora_A and lora_B` : 'it is empty'}`,
      {
        code: 'model.lora',
      },
    )
  return { rank, alpha, targets: targetsOf([...found.keys()], modules) }
}

/** Returns what is wrong with the name of a weight, and a hint. */
function oddName(name: string, modules: ReadonlyMap<string, unknown>): readonly [why: string, hint: string] {
  const [, place, part, further] = /^(.*?)\.lora_([AB])(?:\.(.+))?\.weight$/.exec(name) ?? []
  const within = /layers\.\d+\..+$/.exec(place ?? '')?.[0]
  if (place === undefined || within === undefined || !WITHIN_LAYER.test(within))
    return ['is no low-rank weight of a linear layer', 'adapters on other modules must be merged first']
  const module = `model.${within}`
  if (!modules.has(module))
    return ['is of a layer that the base model does not have', 'the adapter must belong to this base model']
  const before = place.slice(0, -within.length)
  const odd = [
    ...(further === undefined ? [] : [`has '.${further}' in its name, which PEFT writes into no file`]),
    ...(before === `${PREFIX}model.` ? [] : [`begins with '${before}' in place of '${PREFIX}model.'`]),
  ]
  return [
    odd.join(' and ') || 'has another name than PEFT gives it',
    `rename the weights, this one to ${PREFIX}${module}.lora_${part}.weight, or save the adapter with save_pretrained of PEFT`,
  ]
}

const WITHIN_LAYER = new RegExp(`^layers\\.\\d+\\.\\w+\\.(?:${LORA_TARGETS.join('|')})$`)

const TARGETS_HINT = 'target_modules, exclude_modules and layers_to_transform must be those of the weights'

/** Returns the last parts of the names if they select the same modules, else whole names. */
function targetsOf(names: readonly string[], modules: ReadonlyMap<string, unknown>): string[] {
  const last = (name: string) => name.split('.').at(-1)!
  const parts = LORA_TARGETS.filter((target) => names.some((name) => last(name) === target))
  const meant = [...modules.keys()].filter((name) => parts.some((part) => part === last(name)))
  return meant.length === names.length ? parts : [...names]
}

/**
 * Reads an adapter with its weights.
 * @throws RlError `model.lora` like `readLoraConfig`
 */
export async function readAdapter(folder: string, config: ModelConfig): Promise<Adapter> {
  const lora = await readLoraConfig(folder, config)
  const file = await openSafetensors(join(folder, WEIGHTS))
  try {
    const tensors: NamedTensor[] = []
    for (const [name, shape] of loraShapes(config, lora))
      tensors.push({ name, shape, values: await file.read(PREFIX + name) })
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
  await writeFile(join(folder, CONFIG), `${JSON.stringify(config, null, 2)}\n`)
  const prefixed = tensors.map((tensor) => ({ ...tensor, name: PREFIX + tensor.name }))
  const { sha256 } = await writeSafetensors(join(folder, WEIGHTS), prefixed, { dtype })
  return sha256
}

/** Returns the weight with its adapter: a new array W + scale B A, rows of length `width`. */
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
      const factor = scale * b[row * rank + r]!
      if (factor === 0) continue
      for (let column = 0; column < width; column++)
        merged[row * width + column]! += factor * a[r * width + column]!
    }
  return merged
}
