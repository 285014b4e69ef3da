/**
 * Stands before a server of models that sees no folder of the run. It fetches the weights that the server is told to load, and
 * passes every other request on. Whether a caller may ask, the server itself decides.
 */
import { existsSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { z } from 'zod'
import { fetchVersion, type ModelRole, UPDATED } from '../actors/learner/checkpoints.ts'
import { readEvents } from '../actors/rollout/log-queries.ts'
import { pause } from '../clock.ts'
import { explain, RlError } from '../errors.ts'
import type { LogClient } from '../events/log-client.ts'
import { parseBody } from '../openai-api/bodies.ts'
import { apiError, bodyTooLarge, toApiError } from '../openai-api/errors.ts'
import { httpFetch } from '../platform/http.ts'
import { safeParse } from '../safe-parse.ts'

/** Agents send whole histories, with images. */
const MOST_BODY_BYTES = 64_000_000
const MOST_LOAD_BYTES = 64_000
/** Whole models that stay here if a server replaces its weights by the folder's: it unloads none. */
const WHOLE_MODELS = 2
/** Time in which a head answers, and in which a version of several gigabytes comes. */
const ANSWER_MS = 10_000
const FETCH_MS = 600_000
/** Headers of one connection, and those that the next one writes itself. */
const OWN_HEADERS = new Set([
  ...['connection', 'keep-alive', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['host', 'content-length', 'content-encoding', 'accept-encoding', 'expect'],
])
/** A version's folder within its run, as the publisher names it. */
const CHECKPOINT = /checkpoints\/(policy|reward-model)\/\d{5,9}(?:-[0-9a-f]{8})?$/
/** Folder of whole models. No version has this name. */
const WHOLE = '.whole'
const NAME = /^(?!\.)[\w.-]{1,200}$/

const loadSchema = z.looseObject({ lora_name: z.string().regex(NAME), lora_path: z.string() })
const replaceSchema = z.looseObject({ model_path: z.string() })
const unloadSchema = z.looseObject({ lora_name: z.string().regex(NAME) })

export type RelayOptions = {
  readonly log: LogClient
  /** Base URL of the server, with or without `/v1`. */
  readonly server: string
  /** Folder of fetched weights. The server must see it under the same path. */
  readonly folder: string
  readonly say: (line: string) => void
}

/** Returns the HTTP interface of a relay. */
export function weightsRelay({ log, server, folder, say }: RelayOptions): Hono {
  const root = server.replace(/\/(?:v1\/?)?$/, '')
  const fetching = new Map<string, Promise<string>>()
  const app = new Hono()

  app.onError((error) => {
    const { status, body } = toApiError(error)
    return Response.json(body, { status })
  })
  app.use(
    bodyLimit({
      maxSize: MOST_BODY_BYTES,
      onError: () => {
        throw bodyTooLarge(MOST_BODY_BYTES)
      },
    }),
  )
  for (const path of ['/v1/load_lora_adapter', '/load_lora_adapter'])
    app.post(path, async (c) => {
      const { lora_name: name, lora_path, ...rest } = read(loadSchema, await small(c.req.raw))
      await refuseStrangers(c.req.raw)
      const place = await fetched(lora_path, join(name, partOf(lora_path)))
      return pass(c.req.raw, Buffer.from(JSON.stringify({ ...rest, lora_name: name, lora_path: place })))
    })
  for (const path of ['/v1/unload_lora_adapter', '/unload_lora_adapter'])
    app.post(path, async (c) => {
      const text = await small(c.req.raw)
      const { lora_name: name } = read(unloadSchema, text)
      const answer = await pass(c.req.raw, Buffer.from(text))
      if (answer.ok) await rm(join(folder, name), { recursive: true, force: true })
      return answer
    })
  app.post('/update_weights_from_disk', async (c) => {
    const { model_path, ...rest } = read(replaceSchema, await small(c.req.raw))
    await refuseStrangers(c.req.raw)
    const place = await fetched(model_path, join(WHOLE, partOf(model_path)))
    const answer = await pass(c.req.raw, Buffer.from(JSON.stringify({ ...rest, model_path: place })))
    await removeOldest()
    return answer
  })
  app.all('*', async (c) => {
    const { method } = c.req
    return pass(
      c.req.raw,
      method === 'GET' || method === 'HEAD' ? null : Buffer.from(await c.req.arrayBuffer()),
    )
  })
  return app

  /** Asks the server what it has, with the caller's key: who may not ask that, is given no files. */
  async function refuseStrangers(request: Request): Promise<void> {
    const answer = await ask(`${root}/v1/models`, {
      headers: headersOf(request.headers),
      signal: AbortSignal.any([request.signal, AbortSignal.timeout(ANSWER_MS)]),
    })
    await answer.body?.cancel()
    if (answer.status === 401 || answer.status === 403)
      throw apiError(answer.status, 'the server does not take this key', { code: 'invalid_api_key' })
  }

  async function pass(request: Request, body: Uint8Array<ArrayBuffer> | null): Promise<Response> {
    const { pathname, search } = new URL(request.url)
    const answer = await ask(`${root}${pathname}${search}`, {
      method: request.method,
      headers: headersOf(request.headers),
      body,
      signal: request.signal,
      redirect: 'manual',
    })
    return new Response(answer.body, { status: answer.status, headers: headersOf(answer.headers) })
  }

  /** Returns the folder here of a version that the caller names by its place in the run's folder. */
  function fetched(path: string, name: string): Promise<string> {
    const place = join(folder, name)
    const found = fetching.get(place) ?? bring(path, place).finally(() => fetching.delete(place))
    fetching.set(place, found)
    return found
  }

  async function bring(path: string, place: string): Promise<string> {
    const [inner, role] = CHECKPOINT.exec(path) ?? []
    if (inner === undefined)
      throw apiError(404, `'${path.slice(0, 200)}' is no folder of a version`, { code: 'not_found' })
    if (existsSync(place)) return place
    const { events } = await fromHead(readEvents(log, 1, [UPDATED[role as ModelRole]]))
    const made = events.findLast(({ data }) => data.checkpoint?.path === inner)
    if (made === undefined)
      throw apiError(404, `run '${log.run}' has no version at ${inner}`, { code: 'not_found' })
    const started = performance.now()
    try {
      await fromHead(fetchVersion(log, role as ModelRole, made, place), FETCH_MS)
    } catch (error) {
      say(`${role} version ${made.data.version} was not fetched: ${explain(error)}`)
      if (error instanceof RlError) throw apiError(502, error.message, { code: error.code })
      throw error
    }
    say(
      `${role} version ${made.data.version} is here after ${((performance.now() - started) / 1000).toFixed(1)} s`,
    )
    return place
  }

  async function removeOldest(): Promise<void> {
    const whole = join(folder, WHOLE)
    const names = (await readdir(whole)).filter((name) => !name.endsWith('.part'))
    const aged = await Promise.all(
      names.map(async (name) => ({ name, since: (await stat(join(whole, name))).mtimeMs })),
    )
    const old = aged.sort((a, b) => b.since - a.since).slice(WHOLE_MODELS)
    for (const { name } of old) await rm(join(whole, name), { recursive: true, force: true })
  }
}

/** Returns the name of a version's folder among those that a server knows by one name, e.g. `policy-00003`. */
function partOf(path: string): string {
  const [inner = '', role = ''] = CHECKPOINT.exec(path) ?? []
  return `${role}-${inner.slice(inner.lastIndexOf('/') + 1)}`
}

/** A run whose head is away answers nothing. The publisher asks again with its next version, or when the run goes on. */
async function fromHead<T>(answer: Promise<T>, mostMs = ANSWER_MS): Promise<T> {
  const over = new AbortController()
  const late = pause(mostMs, over.signal).then(() => {
    throw apiError(503, "the run's head does not answer", { code: 'run.no-head' })
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    over.abort()
    late.catch(() => {})
    answer.catch(() => {})
  }
}

async function ask(url: string, init: RequestInit): Promise<Response> {
  try {
    return await httpFetch(url, init)
  } catch (error) {
    throw apiError(502, `the server at ${new URL(url).host} does not answer: ${explain(error)}`, {
      code: 'bad_gateway',
    })
  }
}

async function small(request: Request): Promise<string> {
  const text = await request.text()
  if (text.length > MOST_LOAD_BYTES) throw bodyTooLarge(MOST_LOAD_BYTES)
  return text
}

function read<Schema extends z.ZodType>(schema: Schema, text: string): z.infer<Schema> {
  const parsed = safeParse(schema, parseBody(text))
  if (parsed.success) return parsed.data
  throw apiError(400, 'the body is not what this route takes', { code: 'invalid_body' })
}

function headersOf(headers: Headers): Headers {
  const passed = new Headers()
  for (const [name, value] of headers) if (!OWN_HEADERS.has(name)) passed.append(name, value)
  return passed
}
