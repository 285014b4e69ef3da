/**
 * Model folders as Hugging Face writes them: config.json, generation_config.json, model.safetensors (or shards with an
 * index), tokenizer.json, tokenizer_config.json, chat_template.jinja; beside them optimizer.safetensors with AdamW's moments.
 * A folder with adapter_config.json is a LoRA adapter on the base model that it names; a GGUF file, or a
 * folder that holds nothing else, is read as well.
 */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { RlError } from '../../errors.ts'
import { isHubName } from '../hub.ts'
import { hubFolder, modelPlace } from '../hub-folder.ts'
import { type ModelConfig, modelConfigJson, parseModelConfig } from './config.ts'
import { openGgufWeights, readGgufModel } from './gguf/model.ts'
import { type Adapter, readAdapter, readAdapterConfig, writeAdapter } from './lora.ts'
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

const WEIGHTS = 'model.safetensors'
const ADAPTER_WEIGHTS = 'adapter_model.safetensors'
const OPTIMIZER = 'optimizer.safetensors'
const CHAT_TEMPLATE = 'chat_template.jinja'
/** Of the templates that transformers 5 writes by name the one that is used. */
const TOOL_TEMPLATE = 'additional_chat_templates/tool_use.jinja'

/** What a folder's small files say; no weights are read. */
export type ModelFolder = {
  readonly folder: string
  /** The folder of the base model where this one is an adapter, else the folder itself. */
  readonly base: string
  readonly isAdapter: boolean
  /** Its end tokens are those of generation_config.json, where that names any. */
  readonly config: ModelConfig
  readonly tokenizer: TokenizerFiles
  /** generation_config.json as it stands, for exports: what others sample with by default. Empty where there is none. */
  readonly generation: Readonly<Record<string, unknown>>
}

/** Everything that is in memory after loading. */
export type Checkpoint = {
  readonly weights: ReadonlyMap<string, Float32Array>
  readonly adapter: Adapter | null
  readonly optimizer: OptimizerState | null
}

const generationSchema = z.looseObject({
  eos_token_id: z.union([z.number().int(), z.array(z.number().int())]).nullish(),
})

/**
 * @param path of a folder or a GGUF file, or a hub's name of a model that was fetched
 * @throws RlError `model.folder` where a file is missing or not JSON; `model.config` for another architecture.
 */
export async function readModelFolder(path: string): Promise<ModelFolder> {
  const folder = modelPlace(path)
  const isAdapter = holdsAdapter(folder)
  const base = isAdapter ? await baseOf(folder) : ((await ggufFileOf(folder)) ?? folder)
  // transformers would apply the first adapter as well.
  if (isAdapter && holdsAdapter(base))
    throw new RlError(`${folder}: its base, ${base}, is an adapter itself`, {
      code: 'model.folder',
      hint: 'merge that one into its base first: rl model export',
    })
  const model = isGguf(base)
    ? { ...(await readGgufModel(base)), generation: {} }
    : await readHuggingFace(base)
  const tokenizer = isAdapter ? await adapterTokenizer(folder, model) : model.tokenizer
  return { ...model, folder, base, isAdapter, tokenizer }
}

/** An adapter may bring a tokenizer of its own, or a chat template alone; half a tokenizer is neither its own nor its base's. */
async function adapterTokenizer(
  folder: string,
  { config, tokenizer }: Pick<ModelFolder, 'config' | 'tokenizer'>,
): Promise<TokenizerFiles> {
  const has = (name: string) => existsSync(join(folder, name))
  if (has('tokenizer.json')) return await readTokenizer(folder, config.family)
  if (has('tokenizer_config.json'))
    throw new RlError(`${folder} holds a tokenizer_config.json and no tokenizer.json`, {
      code: 'model.folder',
      hint: "put the tokenizer.json beside it that it belongs to, or remove it: then the base's tokenizer is taken",
    })
  const chatTemplate = await readOptional(join(folder, CHAT_TEMPLATE), (text) => text)
  if (chatTemplate === undefined) return tokenizer
  const { toolTemplate: _ofBase, ...rest } = tokenizer
  return { ...rest, chatTemplate }
}

/** Some trainers leave the base's config.json beside an adapter: what is there to be read is told by the weights. */
function holdsAdapter(folder: string): boolean {
  const has = (name: string) => existsSync(join(folder, name))
  if (!has('adapter_config.json')) return false
  const whole = [WEIGHTS, `${WEIGHTS}.index.json`].find(has)
  if (whole === undefined) return true
  throw new RlError(`${folder} holds both an adapter and the weights of a whole model (${whole})`, {
    code: 'model.folder',
    hint: 'put one of them into a folder of its own: it is not told which is meant',
  })
}

async function readHuggingFace(base: string) {
  const config = parseModelConfig(await readJson(join(base, 'config.json')), join(base, 'config.json'))
  const generationPath = join(base, 'generation_config.json')
  const parsed = generationSchema.safeParse((await readOptional(generationPath, JSON.parse)) ?? {})
  if (!parsed.success)
    throw new RlError(`${generationPath}: eos_token_id: ${parsed.error.issues[0].message}`, {
      code: 'model.folder',
      hint: 'it names the end tokens: a number or a list of numbers',
    })
  const generation = parsed.data
  const eosTokens = [generation.eos_token_id ?? config.eosTokens].flat()
  return { config: { ...config, eosTokens }, generation, tokenizer: await readTokenizer(base, config.family) }
}

async function readTokenizer(home: string, modelType: string): Promise<TokenizerFiles> {
  const template = (name: string) => readOptional(join(home, name), (text) => text)
  const [chatTemplate, toolTemplate] = [await template(CHAT_TEMPLATE), await template(TOOL_TEMPLATE)]
  const config = await readJson(join(home, 'tokenizer_config.json'))
  // Folders of before tokenizer_config.json had all tokens name the special ones here.
  const named = config.added_tokens_decoder ? undefined : join(home, 'special_tokens_map.json')
  return {
    modelType,
    tokenizer: await readJson(join(home, 'tokenizer.json')),
    config: named && existsSync(named) ? { ...config, ...(await readJson(named)) } : config,
    ...(chatTemplate === undefined ? {} : { chatTemplate }),
    ...(toolTemplate === undefined ? {} : { toolTemplate }),
  }
}

function isGguf(path: string): boolean {
  return path.endsWith('.gguf')
}

/** The path itself where it is such a file, or the one that a folder without config.json holds. */
async function ggufFileOf(path: string): Promise<string | undefined> {
  if (isGguf(path)) {
    if (existsSync(path)) return path
    throw missing(path)
  }
  if (existsSync(join(path, 'config.json')) || !existsSync(path)) return undefined
  if (!(await stat(path)).isDirectory())
    throw new RlError(`${path} is neither a folder nor a GGUF file`, {
      code: 'model.folder',
      hint: 'name the folder that holds it',
    })
  const found = (await readdir(path)).filter(isGguf).sort()
  if (found.length > 1)
    throw new RlError(`${path} holds ${found.length} GGUF files: ${found.join(', ')}`, {
      code: 'model.folder',
      hint: 'name one of them',
    })
  return found.length === 1 ? join(path, found[0]) : undefined
}

/**
 * The base's weights one by one, in checkpoint order: each can be moved to its place before the next is read.
 * @throws RlError `model.weights` where the folder's weights are not those of its config
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

/** The folder's own adapter, null where it is none. */
export async function adapterOf({ folder, isAdapter, config }: ModelFolder): Promise<Adapter | null> {
  return isAdapter ? await readAdapter(folder, config) : null
}

/** Reads weights, adapter and, where asked for and present, the optimiser's moments. */
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

/** A file may hold a copy of a tied head; another one would be left out of every sum. */
async function refuseOtherHead(base: string, source: TensorSource, embedding: Float32Array): Promise<void> {
  if (!source.entries.has(HEAD)) return
  const head = await source.read(HEAD)
  if (head.length === embedding.length && head.every((value, i) => value === embedding[i])) return
  throw new RlError(`${base}: ${HEAD} is not the embedding, though config.json says tie_word_embeddings`, {
    code: 'model.weights',
    hint: 'set tie_word_embeddings to false in config.json',
  })
}

/** Tensors that others write beside the weights and that are computed from the config. */
const COMPUTED = /\.rotary_emb\.inv_freq$/

/** A weight that nothing here reads would be left out of every sum: the model would be another one. */
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
 * Writes a folder so that it is there whole or not at all: into a temporary folder beside it, then renamed. What stood
 * there before is replaced.
 * @returns SHA-256 (hex) of the weights file: model.safetensors, or adapter_model.safetensors where there is an adapter.
 */
export async function writeModelFolder(
  path: string,
  model: {
    readonly config: ModelConfig
    readonly tokenizer: TokenizerFiles
    readonly weights: readonly NamedTensor[]
    /** Written alone, on the base named, in place of the weights. */
    readonly adapter?: { readonly adapter: Adapter; readonly base: string } | null
    readonly optimizer?: OptimizerState | null
    readonly dtype?: WeightDtype
    /** Further keys of generation_config.json. */
    readonly generation?: Readonly<Record<string, unknown>>
  },
): Promise<string> {
  const folder = resolve(path)
  if (existsSync(folder) && !(await isReplaceable(folder)))
    throw new RlError(`${folder} holds something other than a model`, {
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
      await write('generation_config.json', { ...generation, eos_token_id: config.eosTokens })
      digest = (await writeSafetensors(join(temporary, WEIGHTS), weights, { dtype })).sha256
    }
    await write('tokenizer.json', tokenizer.tokenizer)
    await write('tokenizer_config.json', tokenizer.config)
    if (tokenizer.chatTemplate !== undefined) await write(CHAT_TEMPLATE, tokenizer.chatTemplate)
    if (tokenizer.toolTemplate !== undefined) {
      await mkdir(join(temporary, dirname(TOOL_TEMPLATE)))
      await write(TOOL_TEMPLATE, tokenizer.toolTemplate)
    }
    if (optimizer) await writeOptimizer(temporary, optimizer)
    await swap(temporary, folder)
    return digest
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** SHA-256 (hex) of the weights file; where the weights are sharded, of the index and then every shard in the order of their names. */
export async function weightsDigest({ folder, base, isAdapter }: ModelFolder): Promise<string> {
  const hash = createHash('sha256')
  for (const path of await weightFiles(isAdapter ? folder : base, isAdapter))
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk)
  return hash.digest('hex')
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

/** The base that an adapter names: beside the adapter, from the working directory (as PEFT reads it), absolute, or fetched from a hub. */
async function baseOf(folder: string): Promise<string> {
  const { base } = await readAdapterConfig(folder)
  const places =
    base === null
      ? []
      : [...new Set([resolve(folder, base), resolve(base), ...(isHubName(base) ? [hubFolder(base)] : [])])]
  // `modelPlace` refuses one that is here in part.
  const found = places.find((place) =>
    existsSync(isGguf(place) ? place : join(modelPlace(place), 'config.json')),
  )
  if (found === undefined)
    throw new RlError(
      `${folder}: the adapter's base model ${base ?? '(not named)'} is not a folder here` +
        (places.length > 0 ? `; looked in ${places.join(' and ')}` : ''),
      {
        code: 'model.folder',
        hint: 'set base_model_name_or_path in adapter_config.json to the folder of the base model',
      },
    )
  return found
}

/** AdamW's moments, null where the folder has none. */
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

async function writeOptimizer(folder: string, { step, tensors }: OptimizerState): Promise<void> {
  const named = [...tensors].map(([name, tensor]) => ({ name, ...tensor }))
  await writeSafetensors(join(folder, OPTIMIZER), named, { metadata: { step: String(step) } })
}

/** Puts `from` where `to` is: two renames, so that a crash leaves one of the two whole. */
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

/** What folders of models hold, as they are written here and elsewhere. */
const OF_A_MODEL =
  /^(?:config|generation_config|adapter_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab|chat_template|cold-start)\.json$|^(?:adapter_)?model[\w.-]*\.safetensors(?:\.index\.json)?$|^optimizer\.safetensors$|^tokenizer\.model$|^merges\.txt$|^chat_template\.jinja$|^additional_chat_templates$|^(?:README|LICENSE)(?:\.\w+)?$|^\.gitattributes$/

/** Whatever else lies there would be lost, beside a config.json too: many programs call a file so. */
async function isReplaceable(folder: string): Promise<boolean> {
  const names = await readdir(folder)
  if (names.length === 0) return true
  const isModel = names.includes('config.json') || names.includes('adapter_config.json')
  return isModel && names.every((name) => OF_A_MODEL.test(name))
}

async function readOptional<T>(path: string, parse: (text: string) => T): Promise<T | undefined> {
  if (!existsSync(path)) return undefined
  try {
    return parse(await readFile(path, 'utf8'))
  } catch (cause) {
    throw new RlError(`${path} cannot be read`, { code: 'model.folder', hint: 'it is damaged', cause })
  }
}

async function readJson(path: string): Promise<Record<string, unknown>> {
  const value: unknown = await readOptional(path, JSON.parse)
  if (value === undefined) throw missing(path)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new RlError(`${path} is not a JSON object`, { code: 'model.folder' })
  return value as Record<string, unknown>
}

function missing(path: string): RlError {
  const pickle = path.endsWith('.safetensors') && pickleBeside(path)
  if (pickle)
    return new RlError(
      `${path} does not exist, and ${pickle} is not read: opening it could run what stands in it`,
      {
        code: 'model.folder',
        hint: 'open it with transformers or PEFT and save it again: save_pretrained writes safetensors',
      },
    )
  return new RlError(`${path} does not exist`, {
    code: 'model.folder',
    hint: 'a Hugging Face folder has config.json, model.safetensors, tokenizer.json and tokenizer_config.json; a GGUF file has all in one',
  })
}

function pickleBeside(path: string): string | undefined {
  const bare = path.includes('adapter') ? 'adapter_model' : 'pytorch_model'
  return [`${bare}.bin`, `${bare}.bin.index.json`].find((name) => existsSync(join(dirname(path), name)))
}

function torchDtype(dtype: WeightDtype = 'F32'): string {
  return { F32: 'float32', F16: 'float16', BF16: 'bfloat16' }[dtype]
}
