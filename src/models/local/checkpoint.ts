/**
 * Reads and writes the weights of a model folder: model.safetensors (or shards with an index), an adapter's
 * adapter_model.safetensors, and optimizer.safetensors with AdamW's moments.
 */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { RlError } from '../../errors.ts'
import { TOOL_TEMPLATE } from '../hub.ts'
import { type ModelConfig, modelConfigJson } from './config.ts'
import { writeFileDigests } from './file-digests.ts'
import { openGgufWeights } from './gguf/model.ts'
import { type Adapter, readAdapter, writeAdapter } from './lora.ts'
import { CHAT_TEMPLATE, holdsAdapter, isGguf, type ModelFolder, missing, WEIGHTS } from './model-folder.ts'
import type { OptimizerState } from './optimizer.ts'
import { paramShapes } from './params.ts'
import {
  type NamedTensor,
  openSafetensors,
  openShards,
  shardNames,
  type TensorSource,
  type WeightDtype,
  writeSafetensors,
} from './safetensors.ts'
import { OLD, sweepLeftovers, temporaryFor } from './temporary-folders.ts'
import type { TokenizerFiles } from './tokenizer.ts'

const ADAPTER_WEIGHTS = 'adapter_model.safetensors'
const OPTIMIZER = 'optimizer.safetensors'

/** The content of a model folder in memory. */
export type Checkpoint = {
  readonly weights: ReadonlyMap<string, Float32Array>
  readonly adapter: Adapter | null
  readonly optimizer: OptimizerState | null
}

/**
 * Yields the base's weights one by one in checkpoint order. Each can be moved to its place before the next is read.
 * @throws RlError `model.weights` if the folder's weights do not match its config
 */
export async function* readWeights({ base, config }: ModelFolder): AsyncGenerator<NamedTensor> {
  const source = await openWeights(base)
  try {
    refuseStrangers(base, source, config)
    for (const [name, shape] of paramShapes(config)) {
      const found = source.entries.get(name)
      if (found?.shape.join() !== shape.join())
        throw new RlError(`${base}: weight ${name} is [${found?.shape ?? 'missing'}], expected [${shape}]`, {
          code: 'model.weights',
          hint: 'config.json and the weights must belong together',
        })
      const values = await source.read(name)
      if (name === EMBEDDING && config.tiedHead) await refuseOtherHead(base, source, values)
      yield { name, shape, values }
    }
  } finally {
    await source.close()
  }
}

/** Returns the folder's own adapter, or null if it has none. */
export async function adapterOf({ folder, isAdapter, config }: ModelFolder): Promise<Adapter | null> {
  return isAdapter ? await readAdapter(folder, config) : null
}

/** Reads the weights, the adapter, and the optimiser's moments if they exist and are wanted. */
export async function readCheckpoint(
  model: ModelFolder,
  { optimizer = true }: { readonly optimizer?: boolean } = {},
): Promise<Checkpoint> {
  const weights = new Map<string, Float32Array>()
  for await (const { name, values } of readWeights(model)) weights.set(name, values)
  return {
    weights,
    adapter: await adapterOf(model),
    optimizer: optimizer ? await readOptimizer(model.folder) : null,
  }
}

const EMBEDDING = 'model.embed_tokens.weight'
const HEAD = 'lm_head.weight'

/** A file may have a copy of a tied head. A different head would not be used. */
async function refuseOtherHead(base: string, source: TensorSource, embedding: Float32Array): Promise<void> {
  if (!source.entries.has(HEAD)) return
  const head = await source.read(HEAD)
  if (head.length === embedding.length && head.every((value, i) => value === embedding[i])) return
  throw new RlError(`${base}: ${HEAD} is not the embedding, though config.json says tie_word_embeddings`, {
    code: 'model.weights',
    hint: 'set tie_word_embeddings to false in config.json',
  })
}

/** Tensors that other programs save beside the weights although they follow from the config. */
const COMPUTED = /\.rotary_emb\.inv_freq$/

/** Refuses weights that nothing here reads. Without them the model would be another one. */
function refuseStrangers(base: string, source: TensorSource, config: ModelConfig): void {
  const shapes = paramShapes(config)
  for (const name of source.entries.keys()) {
    const copyOfEmbedding = config.tiedHead && name === HEAD
    if (shapes.has(name) || copyOfEmbedding || COMPUTED.test(name)) continue
    throw new RlError(
      `${base}: weight ${name} is not one of a ${config.family} model with this config.json`,
      {
        code: 'model.weights',
        hint: 'config.json and the weights must belong together; other architectures cannot be read',
      },
    )
  }
}

/**
 * Writes a folder completely or not at all: into a temporary folder beside it, which is then renamed. An earlier folder is replaced.
 * @returns SHA-256 (hex) of the weights file: model.safetensors, or adapter_model.safetensors if there is an adapter
 */
export async function writeModelFolder(
  path: string,
  model: {
    readonly config: ModelConfig
    readonly tokenizer: TokenizerFiles
    readonly weights: readonly NamedTensor[]
    /** If given, only the adapter is written, with the name of its base, and no weights. */
    readonly adapter?: { readonly adapter: Adapter; readonly base: string } | null
    readonly optimizer?: OptimizerState | null
    readonly dtype?: WeightDtype
    /** Further keys of generation_config.json. */
    readonly generation?: Readonly<Record<string, unknown>>
  },
): Promise<string> {
  const folder = resolve(path)
  if (existsSync(folder) && !(await isReplaceable(folder)))
    throw new RlError(`${folder} has files that belong to no model`, {
      code: 'model.folder',
      hint: 'choose an empty or new folder',
    })
  await mkdir(dirname(folder), { recursive: true })
  await sweepLeftovers(dirname(folder))
  const temporary = temporaryFor(folder)
  await mkdir(temporary)
  try {
    const { config, tokenizer, weights, adapter, optimizer, dtype, generation } = model
    const write = (name: string, value: unknown) =>
      writeFile(
        join(temporary, name),
        typeof value === 'string' ? value : `${JSON.stringify(value, null, 2)}\n`,
      )
    let digest: string
    if (adapter) digest = await writeAdapter(temporary, adapter.adapter, { base: adapter.base, dtype })
    else {
      await write('config.json', { ...modelConfigJson(config), torch_dtype: torchDtype(dtype) })
      const { eosTokens } = config
      const eos_token_id = eosTokens.length > 0 ? eosTokens : null
      await write('generation_config.json', { ...generation, eos_token_id })
      digest = (await writeSafetensors(join(temporary, WEIGHTS), weights, { dtype })).sha256
    }
    await write('tokenizer.json', tokenizer.tokenizer)
    await write('tokenizer_config.json', tokenizer.config)
    if (tokenizer.chatTemplate !== undefined) await write(CHAT_TEMPLATE, tokenizer.chatTemplate)
    if (tokenizer.toolTemplate !== undefined) {
      await mkdir(join(temporary, dirname(TOOL_TEMPLATE)))
      await write(TOOL_TEMPLATE, tokenizer.toolTemplate)
    }
    if (optimizer) {
      const weightsFile = adapter ? ADAPTER_WEIGHTS : WEIGHTS
      const moments = await writeOptimizer(temporary, optimizer)
      await writeFileDigests(
        temporary,
        new Map([
          [weightsFile, digest],
          [OPTIMIZER, moments],
        ]),
      )
    }
    await swap(temporary, folder)
    return digest
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** Returns the SHA-256 (hex) of the weights file. For sharded weights it covers the index and then every shard in order of names. */
export async function weightsDigest({
  folder,
  base,
  isAdapter,
}: Pick<ModelFolder, 'folder' | 'base' | 'isAdapter'>): Promise<string> {
  const hash = createHash('sha256')
  for (const path of await weightFiles(isAdapter ? folder : base, isAdapter))
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk)
  return hash.digest('hex')
}

/** As `weightsDigest`, for a folder alone, e.g. an adapter whose base is elsewhere. */
export function folderDigest(folder: string): Promise<string> {
  return weightsDigest({ folder, base: folder, isAdapter: holdsAdapter(folder) })
}

async function weightFiles(folder: string, isAdapter: boolean): Promise<string[]> {
  if (isGguf(folder)) return [folder]
  const whole = join(folder, isAdapter ? ADAPTER_WEIGHTS : WEIGHTS)
  if (existsSync(whole)) return [whole]
  const index = join(folder, `${WEIGHTS}.index.json`)
  if (isAdapter || !existsSync(index)) throw missing(whole)
  return [index, ...(await shardNames(index)).map((name) => join(folder, name))]
}

export async function openWeights(folder: string): Promise<TensorSource> {
  if (isGguf(folder)) return openGgufWeights(folder)
  const index = join(folder, `${WEIGHTS}.index.json`)
  const whole = join(folder, WEIGHTS)
  if (existsSync(whole)) return openSafetensors(whole)
  if (!existsSync(index)) throw missing(whole)
  return openShards(index)
}

/** Reads AdamW's moments. Returns null if the folder has none. */
export async function readOptimizer(folder: string): Promise<OptimizerState | null> {
  const path = join(folder, OPTIMIZER)
  if (!existsSync(path)) return null
  const file = await openSafetensors(path)
  try {
    const step = Number(file.metadata.step)
    if (!Number.isSafeInteger(step) || step < 0)
      throw new RlError(`${path}: its step is '${file.metadata.step}'`, { code: 'model.optimizer' })
    const tensors = new Map<string, { shape: readonly number[]; values: Float32Array }>()
    for (const [name, { shape }] of file.entries) tensors.set(name, { shape, values: await file.read(name) })
    return { step, tensors }
  } finally {
    await file.close()
  }
}

/**
 * Writes AdamW's moments.
 * @returns SHA-256 (hex) of the file
 */
async function writeOptimizer(folder: string, { step, tensors }: OptimizerState): Promise<string> {
  const named = [...tensors].map(([name, tensor]) => ({ name, ...tensor }))
  const metadata = { step: String(step) }
  return (await writeSafetensors(join(folder, OPTIMIZER), named, { metadata })).sha256
}

/** Puts `from` in the place of `to`. It takes two renames, so that a crash leaves one of the two complete. */
async function swap(from: string, to: string): Promise<void> {
  const handle = await open(from)
  await handle.sync()
  await handle.close()
  if (existsSync(to)) {
    const old = `${from}${OLD}`
    await rename(to, old)
    await rename(from, to)
    await rm(old, { recursive: true, force: true })
  } else await rename(from, to)
}

/** Names of files in model folders, as this program and others write them. */
const OF_A_MODEL =
  /^(?:config|generation_config|adapter_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab|chat_template|cold-start|digests)\.json$|^(?:adapter_)?model[\w.-]*\.safetensors(?:\.index\.json)?$|^optimizer\.safetensors$|^tokenizer\.model$|^merges\.txt$|^chat_template\.jinja$|^additional_chat_templates$|^(?:README|LICENSE)(?:\.\w+)?$|^\.gitattributes$/

/** Returns whether a folder may be replaced. Other files in it would be lost, even beside a config.json: many programs use that name. */
async function isReplaceable(folder: string): Promise<boolean> {
  const names = await readdir(folder)
  if (names.length === 0) return true
  const isModel = names.includes('config.json') || names.includes('adapter_config.json')
  return isModel && names.every((name) => OF_A_MODEL.test(name))
}

function torchDtype(dtype: WeightDtype = 'F32'): string {
  return { F32: 'float32', F16: 'float16', BF16: 'bfloat16' }[dtype]
}
