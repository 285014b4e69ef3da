/**
 * Reads a model folder without its weights: config.json, generation_config.json, tokenizer.json, tokenizer_config.json and
 * chat_template.jinja, as Hugging Face writes them. A folder with adapter_config.json is a LoRA adapter on the base model that it
 * names. A GGUF file, or a folder with nothing else, is also read.
 */
import { existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { RlError } from '../../errors.ts'
import { firstIssue, safeParse } from '../../safe-parse.ts'
import { readText } from '../../text-file.ts'
import { isHubName, printable, TOOL_TEMPLATE } from '../hub.ts'
import { fetchedRevision, hubFolder, modelPlace } from '../hub-folder.ts'
import { checkIds, type ModelConfig, parseModelConfig } from './config.ts'
import { readGgufModel } from './gguf/model.ts'
import { refusePointer } from './lfs-pointer.ts'
import { readAdapterConfig } from './lora.ts'
import type { TokenizerFiles } from './tokenizer.ts'

export const WEIGHTS = 'model.safetensors'
export const CHAT_TEMPLATE = 'chat_template.jinja'

/** The content of a folder's small files. No weights are read. */
export type ModelFolder = {
  readonly folder: string
  /** The base model's folder if this one is an adapter, else the folder itself. */
  readonly base: string
  readonly isAdapter: boolean
  /** Its end tokens are those of generation_config.json if that file names any. */
  readonly config: ModelConfig
  readonly tokenizer: TokenizerFiles
  /** Content of generation_config.json, for exports. It has other programs' defaults for sampling. Empty if there is no file. */
  readonly generation: Readonly<Record<string, unknown>>
}

const generationSchema = z.looseObject({
  eos_token_id: z.union([z.number().int(), z.array(z.number().int())]).nullish(),
})

/**
 * @param path a folder, a GGUF file, or a hub's name of a fetched model
 * @throws RlError `model.folder` if a file is missing or not JSON; `model.config` for another architecture
 */
export async function readModelFolder(path: string): Promise<ModelFolder> {
  const folder = modelPlace(path)
  const isAdapter = holdsAdapter(folder)
  const base = isAdapter ? await baseOf(folder) : ((await ggufFileOf(folder)) ?? folder)
  // transformers would apply both adapters.
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

/**
 * An adapter may have its own tokenizer, or only a chat template. An incomplete tokenizer is refused: it is neither its own nor its base's.
 */
async function adapterTokenizer(
  folder: string,
  { config, tokenizer }: Pick<ModelFolder, 'config' | 'tokenizer'>,
): Promise<TokenizerFiles> {
  const has = (name: string) => existsSync(join(folder, name))
  if (has('tokenizer.json')) return await readTokenizer(folder, config.family)
  if (has('tokenizer_config.json'))
    throw new RlError(`${folder} holds a tokenizer_config.json and no tokenizer.json`, {
      code: 'model.folder',
      hint: "add its tokenizer.json, or remove it: then the base's tokenizer is used",
    })
  const chatTemplate = await readOptional(join(folder, CHAT_TEMPLATE), (text) => text)
  if (chatTemplate === undefined) return tokenizer
  const { toolTemplate: _ofBase, ...rest } = tokenizer
  return { ...rest, chatTemplate }
}

/** Returns whether a folder is an adapter. Its weights decide: some trainers leave the base's config.json beside an adapter. */
export function holdsAdapter(folder: string): boolean {
  const has = (name: string) => existsSync(join(folder, name))
  if (!has('adapter_config.json')) return false
  const whole = [WEIGHTS, `${WEIGHTS}.index.json`].find(has)
  if (whole === undefined) return true
  throw new RlError(`${folder} holds both an adapter and the weights of a whole model (${whole})`, {
    code: 'model.folder',
    hint: 'move one of them to another folder: it is unclear which is meant',
  })
}

async function readHuggingFace(base: string) {
  const config = parseModelConfig(await readJson(join(base, 'config.json')), join(base, 'config.json'))
  const generationPath = join(base, 'generation_config.json')
  const parsed = safeParse(generationSchema, (await readOptional(generationPath, JSON.parse)) ?? {})
  if (!parsed.success)
    throw new RlError(`${generationPath}: eos_token_id: ${firstIssue(parsed.error).message}`, {
      code: 'model.folder',
      hint: 'it names the end tokens: a number or a list of numbers',
    })
  const generation = parsed.data
  checkIds({ eos_token_id: generation.eos_token_id }, config.vocabSize, generationPath)
  const eosTokens = [generation.eos_token_id ?? config.eosTokens].flat()
  return { config: { ...config, eosTokens }, generation, tokenizer: await readTokenizer(base, config.family) }
}

async function readTokenizer(home: string, modelType: string): Promise<TokenizerFiles> {
  const template = (name: string) => readOptional(join(home, name), (text) => text)
  const [chatTemplate, toolTemplate] = [await template(CHAT_TEMPLATE), await template(TOOL_TEMPLATE)]
  const config = await readJson(join(home, 'tokenizer_config.json'))
  // In folders from before `added_tokens_decoder` in tokenizer_config.json, this file names the special tokens.
  const named = config.added_tokens_decoder ? undefined : join(home, 'special_tokens_map.json')
  return {
    modelType,
    tokenizer: await readJson(join(home, 'tokenizer.json')),
    config: named && existsSync(named) ? { ...config, ...(await readJson(named)) } : config,
    ...(chatTemplate === undefined ? {} : { chatTemplate }),
    ...(toolTemplate === undefined ? {} : { toolTemplate }),
  }
}

export function isGguf(path: string): boolean {
  return path.endsWith('.gguf')
}

/** Returns the path itself if it is a GGUF file, or the one GGUF file of a folder without config.json. */
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
  const [first, ...others] = found
  if (others.length > 0)
    throw new RlError(`${path} holds ${found.length} GGUF files: ${found.join(', ')}`, {
      code: 'model.folder',
      hint: 'name one of them',
    })
  return first === undefined ? undefined : join(path, first)
}

/**
 * Returns the base that an adapter names: relative to the adapter or to the working directory (as in PEFT), absolute, or fetched from a
 * hub.
 */
async function baseOf(folder: string): Promise<string> {
  const { base, revision } = await readAdapterConfig(folder)
  const places =
    base === null
      ? []
      : [...new Set([resolve(folder, base), resolve(base), ...(isHubName(base) ? [hubFolder(base)] : [])])]
  // `modelPlace` refuses an incomplete model.
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
  if (base !== null && revision !== null && isHubName(base) && found === hubFolder(base))
    refuseOtherRevision(folder, base, revision)
  return found
}

/** The revision is unknown if a person put the base there. */
function refuseOtherRevision(folder: string, base: string, revision: string): void {
  const fetched = fetchedRevision(hubFolder(base))
  const wanted = printable(revision)
  if (fetched === null || wanted === fetched.revision || wanted === fetched.commit) return
  throw new RlError(
    `${folder}: adapter_config.json: revision: it needs ${wanted} of ${base}, but ${fetched.revision} (${fetched.commit}) is here`,
    {
      code: 'model.folder',
      hint: `npm run -s rl -- model get ${base} --revision REVISION fetches another; if the one here is good enough, set revision to null`,
    },
  )
}

async function readOptional<T>(path: string, parse: (text: string) => T): Promise<T | undefined> {
  if (!existsSync(path)) return undefined
  try {
    const text = await readText(path)
    refusePointer(Buffer.from(text), path, 'model.folder')
    return parse(text)
  } catch (cause) {
    if (cause instanceof RlError) throw cause
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

/** Returns the error for a file that a folder lacks. */
export function missing(path: string): RlError {
  const pickle = path.endsWith('.safetensors') && pickleBeside(path)
  if (pickle)
    return new RlError(`${path} does not exist, and ${pickle} is not read: opening it could run code in it`, {
      code: 'model.folder',
      hint: 'open it with transformers or PEFT and save it again: save_pretrained writes safetensors',
    })
  return new RlError(`${path} does not exist`, {
    code: 'model.folder',
    hint: 'a Hugging Face folder has config.json, model.safetensors, tokenizer.json and tokenizer_config.json; a GGUF file has all in one',
  })
}

function pickleBeside(path: string): string | undefined {
  const bare = path.includes('adapter') ? 'adapter_model' : 'pytorch_model'
  return [`${bare}.bin`, `${bare}.bin.index.json`].find((name) => existsSync(join(dirname(path), name)))
}
