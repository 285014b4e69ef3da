/** Models named as on a hub (`OWNER/NAME`), and the cache folders into which they are fetched. */
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

/** A model named as on a hub, and its folder on this machine. */
export type HubCopy = {
  readonly folder: string
  /** The model to fetch. Null if all of it is in the folder. */
  readonly missing: HubModel | null
  /** Size and licence. Null if a person put the files there. */
  readonly told: Pick<HubModel, 'bytes' | 'licence'> | null
}

/** Record of a folder's content. It is written before the first file is fetched, and again if all files have the right digests. */
const RECORD = '.fetched.json'

const recordSchema = z.object({
  name: z.string().transform(printable).default('OWNER/NAME'),
  revision: z.string().transform(printable).default('main'),
  /** Files that were fetched into the folder. Until it is complete the list also has files of older revisions. */
  files: z
    .array(z.string().refine((path) => path === TOOL_TEMPLATE || /^[\w-][\w.-]*$/.test(path)))
    .default([]),
  commit: z.string(),
  bytes: z.number(),
  licence: z.string().transform(printable).nullable(),
  isWhole: z.boolean(),
})

/**
 * Reads HF_ENDPOINT, which names another hub or a mirror, and HF_TOKEN, a token for gated models.
 * @throws RlError `model.hub` that names the variable, but never a secret's value
 */
export function hubOptions(env: NodeJS.ProcessEnv = process.env): HubOptions {
  const endpoint = env.HF_ENDPOINT?.trim() || 'https://huggingface.co'
  const token = env.HF_TOKEN?.trim() || null
  const refuse = (what: string, hint: string) => new RlError(what, { code: 'model.hub', hint })
  // A password may contain a slash, and an address may have no scheme.
  if (endpoint.includes('@'))
    throw refuse('HF_ENDPOINT holds a user or a password', 'name only the host; put a token into HF_TOKEN')
  const url = URL.parse(endpoint)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw refuse(`HF_ENDPOINT is '${printable(endpoint)}'`, 'write https://HOST or http://HOST:PORT')
  if (url.search !== '' || url.hash !== '')
    throw refuse('HF_ENDPOINT holds a query', 'write https://HOST or http://HOST:PORT')
  if (token !== null && !/^[!-~]+$/.test(token))
    throw refuse('HF_TOKEN has characters that no header can hold', 'set it to the token alone, on one line')
  return { endpoint, token }
}

export function hubFolder(name: string): string {
  return cachePlace('models', name)
}

/** Returns the path of a model in a config or a command. A path stays as it is. A hub's name becomes the folder into which it is fetched. */
export function modelPlace(name: string): string {
  const isNamed = isHubName(name)
  const folder = isNamed ? hubFolder(name) : resolve(name)
  const record = readRecord(folder)
  if (record?.isWhole === false) {
    const { revision } = record
    const again = `${isNamed ? name : record.name}${revision === 'main' ? '' : ` --revision ${revision}`}`
    throw new RlError(`${name} is incomplete: its fetch was interrupted`, {
      code: 'model.folder',
      hint: `npm run -s rl -- model get ${again}${isNamed ? '' : ` --to ${name}`} continues the fetch; ${whereLaid(folder)}`,
    })
  }
  if (!isNamed || existsSync(folder)) return folder
  throw new RlError(`${name} is no folder or file here, and was not fetched from a hub`, {
    code: 'model.folder',
    hint: `npm run -s rl -- model get ${name}, or the path of a Hugging Face folder or a GGUF file`,
  })
}

/** Returns the revision that was fetched into a folder, or null if a person put the files there. */
export function fetchedRevision(folder: string): Pick<HubModel, 'revision' | 'commit'> | null {
  return readRecord(folder)
}

function whereLaid(folder: string): string {
  return `if all of its files are in ${folder}, remove ${RECORD} there`
}

/**
 * Asks the hub for the model's files, unless all of them are in the folder.
 * @throws RlError `model.hub`
 */
export async function describeCopy(name: string, options: HubOptions): Promise<HubCopy> {
  const folder = hubFolder(name)
  const record = readRecord(folder)
  if (record ? record.isWhole : wasLaidThere(folder)) return { folder, missing: null, told: record }
  // An interrupted fetch continues with its own revision.
  const model = await describeHubModel(name, { revision: record?.revision, ...options }).catch((cause) => {
    if (record === null || !(cause instanceof RlError)) throw cause
    const hint = `${cause.hint}; a fetch of it was interrupted: ${whereLaid(folder)}`
    throw new RlError(cause.message, { code: cause.code, hint, cause })
  })
  return { folder, missing: model, told: model }
}

/**
 * Fetches the model into its folder.
 * @throws RlError `model.hub`; the part that has arrived is kept, and the next call continues with it
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
    // If the disk is full, the previous record stays intact.
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
  // Files of the previous revision that this one does not have would be read beside it.
  const areRead = [TOOL_TEMPLATE, ...(await readdir(folder)).filter(isModelFile)]
  const had = before ? [...before.files, ...areRead] : []
  for (const file of had) if (!paths.includes(file)) await rm(join(folder, file), { force: true })
  await record(true, paths)
}

/** Smaller files arrive at once and need no progress. */
const LEAST_TOLD_BYTES = 100_000

/** Prints one line for each tenth of a file. */
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

/** Returns whether a person put weights into the folder, e.g. on a machine without network. */
function wasLaidThere(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).some((name) => /^[^.].*\.(?:safetensors|gguf)$/.test(name))
}
