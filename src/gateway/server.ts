/** The gateway's HTTP server: agents take rollouts, call the model, and end rollouts. Default: loopback, with a token. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { z } from 'zod'
import type { Target } from '../actors/learner/targets.ts'
import { parseBody } from '../openai-api/bodies.ts'
import {
  ApiError,
  apiError,
  bodyTooLarge,
  retryHeader,
  toApiError,
  unauthorised,
} from '../openai-api/errors.ts'
import { type HttpEnv, listen, WRITTEN } from '../platform/listen.ts'
import { firstIssue, safeParse } from '../safe-parse.ts'
import { bearerOf } from '../secrets.ts'
import type { Api } from './apis/api.ts'
import { chatCompletions, completions } from './apis/completions.ts'
import { messages } from './apis/messages.ts'
import { responses } from './apis/responses.ts'
import type { Calls } from './calls.ts'
import type { OpenRollout } from './open-rollout.ts'
import { readNote, readOutcome } from './outcome.ts'
import { PassedOn } from './passed-on.ts'
import { idOfKey, type Rollouts } from './rollouts.ts'
import type { RolloutSource } from './source.ts'
import { readAll } from './upstream.ts'

export type GatewayServer = {
  /** e.g. `http://127.0.0.1:8100` */
  readonly url: string
  /** The token for `POST /rollouts`. */
  readonly token: string
  /** Refuses new requests, waits up to `ms` for calls in progress, and closes the connections. */
  readonly close: (ms: number) => Promise<void>
}

export type GatewayServerOptions = {
  readonly source: RolloutSource
  readonly rollouts: Rollouts
  readonly calls: Calls
  readonly targetOf: (policyVersion: number) => Target
  readonly host?: string
  readonly port?: number
  /** Token of the server. It is random if absent. */
  readonly token?: string
  readonly maxBodyBytes?: number
  /** Most calls in progress. Further ones are answered with 429. */
  readonly maxCalls?: number
}

/** Longest wait of `POST /rollouts`. */
const LONGEST_WAIT_SECONDS = 300

const takeSchema = z.strictObject({
  agent: z.string().min(1).max(256).default('agent'),
  /** Seconds to wait if there is no rollout. */
  wait: z.number().min(0).max(LONGEST_WAIT_SECONDS).default(0),
  /** Whoever takes the rollout grades it: the outcome has a key of its own, which the agent never sees. */
  graded: z.boolean().default(false),
  task: z
    .union([
      z.string().min(1).max(256),
      z.strictObject({
        id: z.string().min(1).max(256),
        goal: z.string().max(100_000),
        kind: z.string().min(1).max(256).default('task'),
        recipe: z.record(z.string(), z.unknown()).default({}),
      }),
    ])
    .optional(),
})

/** @throws RlError `server.listen` if the address cannot be had */
export async function startGatewayServer({
  source,
  rollouts,
  calls,
  targetOf,
  host = '127.0.0.1',
  port = 0,
  token = randomBytes(24).toString('base64url'),
  maxBodyBytes = 16_000_000,
  maxCalls = 8192,
}: GatewayServerOptions): Promise<GatewayServer> {
  const isAllowed = bearerOf(token)
  const bodyOf = (request: IncomingMessage) => readBody(request, maxBodyBytes)
  let inHand = 0
  let closing = false
  let idle: () => void = () => {}
  const closed = new AbortController()
  const app = new Hono<HttpEnv>({
    getPath: (request, options) => (options?.env?.incoming.url ?? request.url).replace(/\?.*$/s, ''),
  })

  app.onError((error, { env: { outgoing } }) => {
    if (!outgoing.headersSent && !outgoing.destroyed) return refused(error)
    outgoing.destroy()
    return WRITTEN
  })
  app.notFound((c) => {
    if (authorizationOf(c) !== undefined) rollouts.refuse(ownIdOf(c), 'another path')
    throw noRoute(c)
  })
  app.all('/health', () => answer(200, { status: 'ok', open: rollouts.size() }))
  app.all('/rollouts', (c) => {
    assertPost(c)
    if (!isAllowed(authorizationOf(c))) throw unauthorised()
    return take(c)
  })
  app.use('/rollouts/*', (c, next) => {
    if (!/^\/rollouts\/[\w-]{1,64}(\/|$)/.test(c.req.path)) throw noRoute(c)
    return next()
  })
  // A rollout has an address of its own. The key alone names it too, for clients that keep one base URL.
  for (const place of ['/rollouts/:id', '']) {
    for (const [path, api] of Object.entries(APIS))
      app.all(`${place}${path}`, async (c) => {
        try {
          assertPost(c)
          await callOf(rollouts.findForCall(idOf(c), authorizationOf(c)), api, c.env)
          return WRITTEN
        } catch (error) {
          count(c, error)
          throw worded(error, api)
        }
      })
    app.all(`${place}/v1/models`, (c) => answer(200, { object: 'list', data: [cardOf(c)] }))
    app.all(`${place}/v1/models/*`, (c) => {
      const card = cardOf(c)
      const asked = decoded(c.req.path.replace(/^.*?\/v1\/models\//, ''))
      if (asked === card.id) return answer(200, card)
      throw apiError(
        404,
        `the model '${asked.slice(0, 200)}' does not exist; this rollout is played by '${card.id}'`,
        { param: 'model', code: 'model_not_found' },
      )
    })
  }
  app.all('/rollouts/:id/outcome', async (c) => {
    assertPost(c)
    const [id, authorization] = [c.req.param('id'), authorizationOf(c)]
    // The key is checked before the body is read.
    if (!rollouts.isOver(id, authorization)) rollouts.find(id, authorization)
    const ending = readOutcome(parseBody((await bodyOf(c.env.incoming)).toString('utf8')))
    return answer(200, await rollouts.end(id, authorization, ending))
  })
  app.all('/rollouts/:id/steps/:step', async (c) => {
    assertPost(c)
    const [id, step, authorization] = [c.req.param('id'), c.req.param('step'), authorizationOf(c)]
    if (!/^\d{1,6}$/.test(step)) throw noRoute(c)
    rollouts.find(id, authorization)
    const note = readNote(parseBody((await bodyOf(c.env.incoming)).toString('utf8')))
    await rollouts.note(id, authorization, Number(step), note)
    return answer(200, { rollout: id, step: Number(step) })
  })
  app.get('/rollouts/:id/transcript', (c) => {
    const { recorder } = rollouts.find(c.req.param('id'), authorizationOf(c))
    return answer(200, { messages: recorder.transcript() })
  })
  app.all('/rollouts/*', (c) => {
    rollouts.refuse(ownIdOf(c), 'another path')
    throw noRoute(c, `: agents call ${Object.keys(APIS).join(', ')}`)
  })

  /** Counts a refusal of ours by its kind. An endpoint's fault is none. */
  function count(c: Context<HttpEnv>, error: unknown): void {
    const kind = error instanceof ApiError ? REFUSALS[error.body.error.code ?? ''] : undefined
    if (kind !== undefined) rollouts.refuse(ownIdOf(c), kind)
  }

  async function callOf(rollout: OpenRollout, api: Api, { incoming, outgoing }: HttpBindings) {
    if (closing) throw apiError(503, 'the gateway is ending', { code: 'closing' })
    if (inHand >= maxCalls)
      throw apiError(429, `${maxCalls} calls are already in progress`, { code: 'too_many_requests' })
    inHand++
    try {
      await calls(rollout, api, await bodyOf(incoming), outgoing)
    } finally {
      if (--inHand === 0) idle()
    }
  }

  /** Returns the model of a rollout, in the API's list format. */
  function cardOf(c: Context<HttpEnv>) {
    const { request } = rollouts.findForCall(idOf(c), authorizationOf(c)).assignment
    return { id: targetOf(request.policyVersion).model, object: 'model', created: 0, owned_by: 'rl' }
  }

  async function take({ env: { incoming, outgoing } }: Context<HttpEnv>): Promise<Response> {
    if (closing) throw apiError(503, 'the gateway is ending', { code: 'closing' })
    const { agent, wait, graded, task } = takeOf(await bodyOf(incoming))
    const gone = new AbortController()
    outgoing.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, closed.signal])
    const assignment = await source.take({ task, waitMs: wait * 1000, signal })
    if (assignment === null) return new Response(null, { status: 204 })
    if (gone.signal.aborted) {
      source.giveBack(assignment)
      return WRITTEN
    }
    const { rollout, key, outcomeKey } = rollouts.open(assignment, agent, graded)
    const { request: asked, task: found, deadlineMs } = assignment
    return answer(201, {
      id: rollout.id,
      rollout: asked.rollout,
      url: `${url}/rollouts/${rollout.id}/v1`,
      outcome_url: `${url}/rollouts/${rollout.id}/outcome`,
      key,
      ...(graded ? { outcome_key: outcomeKey } : {}),
      model: targetOf(asked.policyVersion).model,
      task: found,
      max_calls: asked.maxSteps,
      seed: asked.seed,
      deadline_seconds: deadlineMs / 1000,
    })
  }

  const { url, close } = await listen(app, {
    host,
    port,
    backlog: 4096,
    maxHeaders: 100,
    unread: 'read',
    server: { keepAliveTimeout: 65_000, noDelay: true },
  })

  return {
    url,
    token,
    async close(ms) {
      closing = true
      closed.abort()
      if (inHand > 0)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          idle = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      await close()
    },
  }
}

/** Kinds of refused calls, by the error's code. */
const REFUSALS: Readonly<Record<string, string>> = {
  model_not_found: 'another model',
  step_limit: 'too many calls',
  rollout_over: 'ended rollout',
  invalid_api_key: 'wrong key',
  body_too_large: 'too large',
}

/** Reads what an agent asks for. An empty body asks for any rollout. */
function takeOf(raw: Buffer): z.infer<typeof takeSchema> {
  const parsed = safeParse(takeSchema, raw.byteLength === 0 ? {} : parseBody(raw.toString('utf8')))
  if (parsed.success) return parsed.data
  const issue = firstIssue(parsed.error)
  throw apiError(400, `${issue.path.join('.') || 'body'}: ${issue.message}`, { code: 'invalid_value' })
}

function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLong = () => bodyTooLarge(maxBytes)
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLong()
  return readAll(request, maxBytes, tooLong)
}

/** APIs of agents, by path. */
const APIS: Readonly<Record<string, Api>> = {
  '/v1/chat/completions': chatCompletions,
  '/v1/completions': completions,
  '/v1/responses': responses,
  '/v1/messages': messages,
}

/** Returns a refusal in the form of the request's API. */
function worded(error: unknown, { refusal }: Api): unknown {
  if (!refusal) return error
  const as = (status: number, message: string, retryAfter?: string) =>
    new PassedOn(status, Buffer.from(JSON.stringify(refusal(status, message))), retryAfter)
  if (error instanceof PassedOn) return as(error.status, error.said(), error.retryAfter)
  const { status, message } = toApiError(error)
  return as(status, message, status === 429 || status === 503 ? '1' : undefined)
}

/** Anthropic's clients send the key in another header. */
function authorizationOf({ env }: Context<HttpEnv>): string | undefined {
  const { 'x-api-key': key, authorization } = env.incoming.headers
  return authorization ?? (typeof key === 'string' ? `Bearer ${key}` : undefined)
}

/** Returns the id that a path or a key names, or an empty text. */
function ownIdOf(c: Context<HttpEnv>): string {
  return c.req.param('id') ?? idOfKey(authorizationOf(c))
}

function idOf(c: Context<HttpEnv>): string {
  const id = c.req.param('id') ?? idOfKey(authorizationOf(c))
  if (id === '') throw apiError(401, 'the key is missing or names no rollout', { code: 'invalid_api_key' })
  return id
}

/** Decodes a part of a path. Returns it unchanged if its encoding is wrong. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function noRoute(c: Context, hint = ''): ApiError {
  return apiError(404, `there is no ${c.req.path.slice(0, 200)}${hint}`, { code: 'not_found' })
}

function assertPost({ env }: Context<HttpEnv>): void {
  const { method, url = '' } = env.incoming
  if (method !== 'POST')
    throw apiError(404, `there is no ${method} ${url.slice(0, 200)}`, { code: 'not_found' })
}

function answer(status: number, value: unknown, further: Readonly<Record<string, string>> = {}): Response {
  const body = JSON.stringify(value)
  const length = String(Buffer.byteLength(body))
  const headers = { 'content-type': 'application/json', 'content-length': length, ...further }
  return new Response(body, { status, headers })
}

function refused(error: unknown): Response {
  const refusal = error instanceof PassedOn ? error : toApiError(error)
  const { status } = refusal
  // The unread rest of the body would precede the next request. So the connection is closed.
  const ending: Record<string, string> = status === 413 || status === 401 ? { connection: 'close' } : {}
  if (!(refusal instanceof PassedOn))
    return answer(status, refusal.body, { ...ending, ...retryHeader(status) })
  const { body, retryAfter } = refusal
  const retry: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
  const headers = { 'content-type': 'application/json', ...ending, ...retry }
  return new Response(body as Uint8Array<ArrayBuffer>, { status, headers })
}
