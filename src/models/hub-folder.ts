/** Models with a name on a hub (`OWNER/NAME`), and the cache folders that they are downloaded into. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { RlError } from '../errors.ts'
import { cachePlace } from '../package.ts'
import {
  describeHubModel,
  fetchHubModel,
  type HubModel,
  type HubOptions,
  isHubName,
  isModelFile,
  type Progress,
  printable,
  TOOL_TEMPLATE,
} from './hub.ts'

/** The local copy of a model with a name on a hub. */
export type HubCopy = {
  readonly folder: string
  /** Model to download. Null if all of it is here. */
  readonly missing: HubModel | null
  /** Size and licence as the hub told them. Null if a person put the files there. */
  readonly told: Pick<HubModel, 'bytes' | 'licence'> | null
}

/**
 * Record of a folder's content. It is written before the first file comes, and again when all files have the right
 * digests.
 */
const RECORD = '.fetched.json'

const recordSchema = z.object({
  name: z.string().transform(printable).default('OWNER/NAME'),
  revision: z.string().transform(printable).default('main'),
  /** Files that were downloaded into the folder. Until it is complete, files of older revisions are listed too. */
  files: z
    .array(z.string().refine((path) => path === TOOL_TEMPLATE || /^[\w-][\w.-]*$/.test(path)))
    .default([]),
  commit: z.string(),
  bytes: z.number(),
  licence: z.string().transform(printable).nullable(),
  isWhole: z.boolean(),
})

/**
 * Reads HF_ENDPOINT, the address of another hub or a mirror, and HF_TOKEN, a token for gated models.
 * @throws RlError `model.hub`, which names the variable and never shows a secret
 */
export function hubOptions(env: NodeJS.ProcessEnv = process.env): HubOptions {
  const endpoint = env.HF_ENDPOINT?.trim() || 'https://huggingface.co'
  const token = env.HF_TOKEN?.trim() || null
  const refuse = (what: string, hint: string) => new RlError(what, { code: 'model.hub', hint })
  // A password may hold a slash. The address may have no scheme.
  if (endpoint.includes('@'))
    throw refuse('HF_ENDPOINT holds a user or a password', 'name the host alone; a token stands in HF_TOKEN')
  const url = URL.parse(endpoint)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw refuse(`HF_ENDPOINT is '${printable(endpoint)}'`, 'write https://HOST or http://HOST:PORT')
  if (url.search !== '' || url.hash !== '')
    throw refuse('HF_ENDPOINT holds a query', 'write https://HOST or http://HOST:PORT')
  if (token !== null && !/^[!-~]+$/.test(token))
    throw refuse('HF_TOKEN holds what no header can', 'put the token alone into it, on one line')
  return { endpoint, token }
}

export function hubFolder(name: string): string {
  return cachePlace('models', name)
}

/**
 * Returns the folder of a model that a config or command names. A path stays as it is. A name on a hub maps to its
 * cache folder.
 */
export function modelPlace(name: string): string {
  const isNamed = isHubName(name)
  const folder = isNamed ? hubFolder(name) : resolve(name)
  const record = readRecord(folder)
  if (record?.isWhole === false) {
    const { revision } = record
    const again = `${isNamed ? name : record.name}${revision === 'main' ? '' : ` --revision ${revision}`}`
    throw new RlError(`${name} is here in part: its fetch broke off`, {
      code: 'model.folder',
      hint: `npm run -s rl -- model get ${again}${isNamed ? '' : ` --to ${name}`} goes on; ${whereLaid(folder)}`,
    })
  }
  if (!isNamed || existsSync(folder)) return folder
  throw new RlError(`${name} is no folder or file here, and was not fetched from a hub`, {
    code: 'model.folder',
    hint: `npm run -s rl -- model get ${name}, or the path of a Hugging Face folder or a GGUF file`,
  })
}

/** Returns the revision in a folder. Returns null if a person put the files there. */
export function fetchedRevision(folder: string): Pick<HubModel, 'revision' | 'commit'> | null {
  return readRecord(folder)
}

function whereLaid(folder: string): string {
  return `where all of its files lie in ${folder}, remove ${RECORD} there`
}

/**
 * Describes the local copy. Asks the hub unless the model is here.
 * @throws RlError `model.hub`
 */
export async function describeCopy(name: string, options: HubOptions): Promise<HubCopy> {
  const folder = hubFolder(name)
  const record = readRecord(folder)
  if (record ? record.isWhole : wasLaidThere(folder)) return { folder, missing: null, told: record }
  // A broken download resumes with the revision that it began with.
  const model = await describeHubModel(name, { revision: record?.revision, ...options }).catch((cause) => {
    if (record === null || !(cause instanceof RlError)) throw cause
    const hint = `${cause.hint}; a fetch of it broke off: ${whereLaid(folder)}`
    throw new RlError(cause.message, { code: cause.code, hint, cause })
  })
  return { folder, missing: model, told: model }
}

/**
 * Downloads the model into its folder.
 * @throws RlError `model.hub`. Received bytes are kept, and the next call uses them.
 */
export async function fetchCopy(
  model: HubModel,
  folder: string,
  options: HubOptions,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  const { name, revision, commit, bytes, licence } = model
  const paths = model.files.map(({ path }) => path)
  const record = async (isWhole: boolean, files: readonly string[]) => {
    const file = join(folder, RECORD)
    // If the disk is full, the last record stays.
    await writeFile(
      `${file}.new`,
      `${JSON.stringify({ name, revision, commit, bytes, licence, files, isWhole })}\n`,
    )
    await rename(`${file}.new`, file)
  }
  await mkdir(folder, { recursive: true })
  const before = readRecord(folder)
  await record(false, [...new Set([...(before?.files ?? []), ...paths])])
  await fetchHubModel(model, folder, options, onProgress)
  // Files of another revision that this one lacks would be read too.
  const areRead = [TOOL_TEMPLATE, ...(await readdir(folder)).filter(isModelFile)]
  const had = before ? [...before.files, ...areRead] : []
  for (const file of had) if (!paths.includes(file)) await rm(join(folder, file), { force: true })
  await record(true, paths)
}

/** Smaller files come at once and need no progress. */
const LEAST_TOLD_BYTES = 100_000

/** Returns a listener that says a line for each tenth of a file. */
export function progressLines(say: (line: string) => void): (progress: Progress) => void {
  let told = ''
  return ({ file, bytes, of }) => {
    if (of < LEAST_TOLD_BYTES) return
    const line = `${file} ${Math.floor((10 * bytes) / Math.max(1, of)) * 10} % of ${megabytes(of)}`
    if (line !== told) say(line)
    told = line
  }
}

export function sizeAndLicence({ bytes, licence }: Pick<HubModel, 'bytes' | 'licence'>): string {
  return `${megabytes(bytes)}, licence ${licence ?? 'not told'}`
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })} MB`
}

function readRecord(folder: string): z.infer<typeof recordSchema> | null {
  const file = join(folder, RECORD)
  if (!existsSync(file)) return null
  try {
    return recordSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return null
  }
}

/** Returns whether a person put the files there, e.g. without a network. */
function wasLaidThere(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).some((name) => /^[^.].*\.(?:safetensors|gguf)$/.test(name))
}
