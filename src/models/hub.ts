/**
 * Fetches model folders from a hub with Hugging Face's routes: `/api/models/NAME/revision/REV?blobs=true` lists the files with sizes
 * and digests, `/NAME/resolve/REV/FILE` returns them. An interrupted download continues at its end. No file counts as fetched before
 * its digest is right.
 */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { explain, RlError } from '../errors.ts'
import { httpFetch } from '../platform/http.ts'
import { isAbandoned, parseProcess, processText, THIS_PROCESS } from '../platform/process-id.ts'
import { firstIssue, safeParse } from '../safe-parse.ts'
import { withoutCredentials, withoutSecrets } from '../secrets.ts'

export type HubOptions = {
  /** Address of the hub, e.g. `https://huggingface.co`. */
  readonly endpoint: string
  /** For gated models; null for none. The token goes to the endpoint alone, not to hosts that it redirects to. */
  readonly token: string | null
  readonly revision?: string
  /** Longest silence of a request, before its first byte and between two parts. */
  readonly silenceMs?: number
  /** Ends a request. The part that has arrived is kept. */
  readonly signal?: AbortSignal
}

type HubFile = {
  readonly path: string
  readonly bytes: number
  /** SHA-256 of large files, git's blob id (SHA-1) of the others. Null if the hub lists neither. */
  readonly digest: { readonly kind: 'sha256' | 'git'; readonly hex: string } | null
}

export type HubModel = {
  readonly name: string
  /** The revision that was asked for, e.g. `main`. */
  readonly revision: string
  /** The commit of the revision. All files are from it. */
  readonly commit: string
  readonly licence: string | null
  /** The files that are needed to read the model. */
  readonly files: readonly HubFile[]
  readonly bytes: number
}

export type Progress = { readonly file: string; readonly bytes: number; readonly of: number }

const NAME = /^[\w-][\w.-]*\/[\w-][\w.-]*$/

/** Returns whether a text is a name on a hub (`OWNER/NAME`) and no path that exists here. */
export function isHubName(text: string): boolean {
  return NAME.test(text) && !existsSync(text)
}

const listingSchema = z.looseObject({
  sha: z.string().regex(/^[0-9a-f]{4,64}$/),
  cardData: z.looseObject({ license: z.union([z.string(), z.array(z.string())]).nullish() }).nullish(),
  siblings: z.array(
    z.looseObject({
      rfilename: z.string(),
      size: z.int().nonnegative().nullish(),
      blobId: z
        .string()
        .regex(/^(?:[0-9a-f]{40})?$/)
        .nullish(),
      lfs: z
        .looseObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/), size: z.int().nonnegative() })
        .nullish(),
    }),
  ),
})

/**
 * Asks the hub for the files of a model.
 * @throws RlError `model.hub` if the hub cannot be reached, does not know the model, or if the model has no readable weights
 */
export async function describeHubModel(name: string, options: HubOptions): Promise<HubModel> {
  if (!NAME.test(name))
    throw new RlError(`'${name}' is no name on a hub`, { code: 'model.hub', hint: 'use OWNER/NAME' })
  const { revision = 'main' } = options
  const path = `/api/models/${name}/revision/${encodeURIComponent(revision)}?blobs=true`
  const response = await ask(name, path, options)
  const parsed = safeParse(listingSchema, await readListing(name, response, options))
  if (!parsed.success)
    throw new RlError(
      `${name}: the hub's list of files cannot be read: ${firstIssue(parsed.error).message}`,
      {
        code: 'model.hub',
        hint: 'is HF_ENDPOINT a hub?',
      },
    )
  const { sha, siblings, cardData } = parsed.data
  const all = siblings.map(({ rfilename, size, lfs, blobId }): HubFile => {
    const digest = lfs
      ? { kind: 'sha256' as const, hex: lfs.sha256 }
      : blobId
        ? { kind: 'git' as const, hex: blobId }
        : null
    return { path: rfilename, bytes: lfs?.size ?? size ?? 0, digest }
  })
  const files = neededFiles(all)
  if (files.length === 0)
    throw new RlError(`${name} has neither safetensors nor a single GGUF file`, {
      code: 'model.hub',
      hint: 'other formats are not supported',
    })
  return {
    name,
    revision,
    commit: sha,
    licence: printable([cardData?.license ?? []].flat().join(', ')) || null,
    files,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}

/** Makes a hub's text safe for a terminal: printable ASCII, at most 200 characters. */
export function printable(text: string): string {
  return text.replaceAll(/[^ -~]/g, '?').slice(0, 200)
}

/** Returns an error's text without token and credentials: errors of fetch quote headers and addresses. */
function told(cause: unknown, { token }: HubOptions): string {
  const text = reasonOf(cause)
  return withoutCredentials(token ? withoutSecrets(text, [token]) : text)
}

/** Returns an error's message with its cause. A cause may have only a code, e.g. if none of several addresses answered. */
function reasonOf(cause: unknown): string {
  const behind = cause instanceof Error ? cause.cause : undefined
  const told = (one: unknown) => {
    if (!(one instanceof Error)) return one === undefined ? '' : explain(one)
    const { code = '' } = one as NodeJS.ErrnoException
    const isTold = one.message.includes(code) || one instanceof RlError
    return [explain(one), isTold ? '' : code].filter((part) => part !== '').join(', ')
  }
  const outer = told(cause)
  const inner = told(behind)
  return inner === '' || outer.includes(inner) ? outer : `${outer} (${inner})`
}

/** No model's list of files is this large. */
const MOST_LISTING_BYTES = 32_000_000

/** Returns undefined if the list is not JSON. */
async function readListing(name: string, response: Response, options: HubOptions): Promise<unknown> {
  const read: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const part of parts(response, options)) {
      read.push(part)
      bytes += part.byteLength
      if (bytes > MOST_LISTING_BYTES) throw new Error(`it has more than ${MOST_LISTING_BYTES / 1e6} MB`)
    }
  } catch (cause) {
    throw new RlError(`${name}: the hub's list of files was cut off: ${told(cause, options)}`, {
      code: 'model.hub',
      hint: 'try again, or name a mirror in HF_ENDPOINT',
      cause,
    })
  }
  try {
    return JSON.parse(Buffer.concat(read).toString())
  } catch {
    return undefined
  }
}

/** The one file below the top folder that is fetched: the template that transformers 5 stores under this name and uses. */
export const TOOL_TEMPLATE = 'additional_chat_templates/tool_use.jinja'
const SMALL =
  /^(?:config|generation_config|tokenizer|tokenizer_config|special_tokens_map|adapter_config)\.json$|^chat_template\.jinja$|^LICENSE(?:\.\w+)?$|^README\.md$/
const WEIGHTS = /^(?:adapter_)?model(?:-\d+-of-\d+)?\.safetensors(?:\.index\.json)?$/

/** Returns whether a model is read from a file at this path. */
export function isModelFile(path: string): boolean {
  return isSmall(path) || WEIGHTS.test(path)
}

function isSmall(path: string): boolean {
  return SMALL.test(path) || path === TOOL_TEMPLATE
}

/** Selects files with plain names at the top, and one fixed path below it. So nothing can be written outside the folder. */
function neededFiles(all: readonly HubFile[]): HubFile[] {
  const weights = all.filter(({ path }) => WEIGHTS.test(path))
  const gguf = all.filter(({ path }) => /^[\w.-]+\.gguf$/.test(path))
  if (weights.length === 0 && gguf.length !== 1) return []
  const chosen = weights.length > 0 ? weights : gguf
  return [...all.filter(({ path }) => isSmall(path)), ...chosen]
}

/**
 * Fetches all files of the model into a folder.
 * @throws RlError `model.hub`; the part that has arrived is kept, and the next call continues with it
 */
export async function fetchHubModel(
  model: HubModel,
  folder: string,
  options: HubOptions,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  for (const file of model.files) {
    const target = join(folder, file.path)
    await mkdir(dirname(target), { recursive: true })
    if ((await sizeOf(target)) === file.bytes && (await digestMatches(target, file))) continue
    await fetchFile(model, file, target, options, onProgress)
  }
}

async function fetchFile(
  { name, commit }: HubModel,
  file: HubFile,
  target: string,
  options: HubOptions,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  const part = await ownPart(target, (file.digest?.hex ?? commit).slice(0, 16))
  let have = await sizeOf(part)
  if (have > file.bytes) {
    await rm(part)
    have = 0
  }
  if (have < file.bytes || file.bytes === 0) {
    const path = file.path.split('/').map(encodeURIComponent).join('/')
    const response = await ask(name, `/${name}/resolve/${commit}/${path}`, options, {
      ...(have > 0 ? { range: `bytes=${have}-` } : {}),
    })
    // A server without range requests sends the whole file again.
    if (response.status !== 206) have = 0
    const out = await open(part, have > 0 ? 'a' : 'w')
    try {
      for await (const bytes of parts(response, options)) {
        // If the disk is nearly full, only a part may be written.
        for (let done = 0; done < bytes.byteLength; ) {
          const { bytesWritten } = await out.write(bytes, done)
          done += bytesWritten
          have += bytesWritten
        }
        if (have > file.bytes) break
        onProgress({ file: file.path, bytes: have, of: file.bytes })
      }
      await out.sync()
    } catch (cause) {
      throw new RlError(
        `${name}: ${file.path} broke off at ${have} of ${file.bytes} bytes: ${told(cause, options)}`,
        {
          code: 'model.hub',
          hint: `${isDiskFull(cause) ? 'the disk is full: make room, then ' : ''}the same command continues from there`,
          cause,
        },
      )
    } finally {
      await out.close()
    }
  }
  if (have !== file.bytes || !(await digestMatches(part, file))) {
    await rm(part)
    throw new RlError(`${name}: ${file.path} is not the file that the hub lists (size or digest differ)`, {
      code: 'model.hub',
      hint: 'fetch it again; if that fails again, do not trust the mirror',
    })
  }
  await rename(part, target)
}

function isDiskFull(cause: unknown): boolean {
  return cause instanceof Error && /^(?:ENOSPC|EDQUOT)$/.test((cause as NodeJS.ErrnoException).code ?? '')
}

/** A download fails after `SILENCE_MS` without data. So a part file that is unchanged for this long has no owner. */
const PART_LEASE_MS = 600_000

/**
 * Each process downloads into its own .part file, so two can fetch the same model. The part file of a dead process is resumed if its
 * content hash is equal, else deleted.
 */
async function ownPart(target: string, content: string): Promise<string> {
  const folder = dirname(target)
  const begin = `.${basename(target)}.`
  const own = join(folder, `${begin}${content}.${processText(THIS_PROCESS)}.part`)
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const rest = name.startsWith(begin) ? name.slice(begin.length) : ''
    const [, of, writer] = /^([^.]+)\.(.+)\.part$/.exec(rest) ?? []
    if (of === undefined || path === own) continue
    const isOwn = writer === processText(THIS_PROCESS)
    if (!isOwn && !isAbandoned(parseProcess(writer), await untouchedMs(path), PART_LEASE_MS)) continue
    // Another process may have taken the file in the meantime.
    if (of !== content) await rm(path, { force: true })
    else if (!existsSync(own)) await rename(path, own).catch(() => {})
  }
  return own
}

/** Returns 0 if the file is gone. */
async function untouchedMs(path: string): Promise<number> {
  const found = await stat(path).catch(() => null)
  return found === null ? 0 : Date.now() - found.mtimeMs
}

/** Yields the parts of a body. Throws if a part takes longer than the limit. */
async function* parts(
  response: Response,
  { silenceMs = SILENCE_MS }: HubOptions,
): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader()
  if (!reader) return
  try {
    for (;;) {
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`no data for ${silenceMs / 1000} s`)), silenceMs)
      })
      const { done, value } = await Promise.race([reader.read(), late]).finally(() => clearTimeout(timer))
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

const SILENCE_MS = 30_000

/** A hub that is busy or ill gets this many requests in all. */
const TRIES = 3
const LONGEST_WAIT_SECONDS = 20

async function ask(
  name: string,
  path: string,
  options: HubOptions,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const { endpoint, signal } = options
  for (let tried = 1; ; tried++) {
    const response = await askOnce(name, path, options, headers)
    if (response.ok) return response
    await response.body?.cancel()
    const { status } = response
    const isPassing = status === 429 || status >= 500
    if (isPassing && tried < TRIES) {
      const seconds = secondsUntil(response.headers.get('retry-after') ?? '')
      await pause(1000 * Math.min(seconds >= 0 ? seconds : tried, LONGEST_WAIT_SECONDS), undefined, {
        signal,
      })
      continue
    }
    const gated = status === 401 || status === 403
    const isHubs = originOf(response.url) === originOf(endpoint)
    throw new RlError(`${name}: ${placeOf(response.url, endpoint)} answers ${status}`, {
      code: 'model.hub',
      hint:
        isPassing || !isHubs
          ? 'the hub is busy or ill: try again later, or name a mirror in HF_ENDPOINT'
          : gated
            ? 'the model is gated or does not exist: accept its terms there and set HF_TOKEN'
            : `check the name and the revision; if a path was meant, there is no ${name} here`,
    })
  }
}

/** Reads Retry-After, a number or a date. Returns NaN if it is neither. */
function secondsUntil(retryAfter: string): number {
  if (retryAfter === '') return Number.NaN
  const seconds = Number(retryAfter)
  return Number.isNaN(seconds) ? (Date.parse(retryAfter) - Date.now()) / 1000 : seconds
}

const MOST_REDIRECTS = 10

/** Follows redirects itself, so that an error can name the host that failed. */
async function askOnce(
  name: string,
  path: string,
  options: HubOptions,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const { endpoint, token, silenceMs = SILENCE_MS, signal } = options
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(new Error(`no answer within ${silenceMs / 1000} s`)), silenceMs)
  let url = `${endpoint.replace(/\/$/, '')}${path}`
  try {
    for (let redirects = 0; ; redirects++) {
      const sent = new Headers(headers)
      if (token !== null && originOf(url) === originOf(endpoint)) sent.set('authorization', `Bearer ${token}`)
      const response = await httpFetch(url, {
        headers: sent,
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, abort.signal]) : abort.signal,
      })
      const location = isRedirect(response) ? response.headers.get('location') : null
      if (location === null) return response
      await response.body?.cancel()
      if (redirects === MOST_REDIRECTS) throw new Error(`it redirects more than ${MOST_REDIRECTS} times`)
      const next = URL.parse(location, url)
      if (next === null || !/^https?:$/.test(next.protocol) || next.username !== '' || next.password !== '')
        throw new Error('it redirects to something that is no web address')
      url = next.href
    }
  } catch (cause) {
    throw new RlError(`${name}: ${placeOf(url, endpoint)} cannot be reached: ${told(cause, options)}`, {
      code: 'model.hub',
      hint: `without a network put its config.json, tokenizer.json, tokenizer_config.json and model.safetensors (or one GGUF file) into .cache/models/${name}, or into a folder whose path you name; HF_ENDPOINT names a mirror`,
      cause,
    })
  } finally {
    clearTimeout(timer)
  }
}

function isRedirect({ status }: Response): boolean {
  return [301, 302, 303, 307, 308].includes(status)
}

function originOf(url: string): string | undefined {
  return URL.parse(url)?.origin
}

/** Returns a redirect's host without path and query, which may hold a key. */
function placeOf(url: string, endpoint: string): string {
  const hub = withoutCredentials(endpoint)
  return originOf(url) === originOf(endpoint) ? hub : `${hub} redirects to ${URL.parse(url)?.host}, which`
}

async function sizeOf(path: string): Promise<number> {
  return existsSync(path) ? (await stat(path)).size : 0
}

async function digestMatches(path: string, { digest, bytes }: HubFile): Promise<boolean> {
  if (!existsSync(path)) return false
  if (!digest) return true
  const hash = createHash(digest.kind === 'git' ? 'sha1' : 'sha256')
  if (digest.kind === 'git') hash.update(`blob ${bytes}\0`)
  for await (const part of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(part)
  return hash.digest('hex') === digest.hex
}
