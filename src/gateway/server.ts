/** The gateway's HTTP server: agents take rollouts, call the model, and end rollouts. Default: loopback, with a token. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { z } from 'zod'
import type { Target } from '../actors/learner/targets.ts'
import { parseBody } from '../openai-api/bodies.ts'
import {
  type ApiError,
  apiError,
  bodyTooLarge,
  retryHeader,
  toApiError,
  unauthorised,
} from '../openai-api/errors.ts'
import { type HttpEnv, listen, WRITTEN } from '../platform/listen.ts'
import { safeParse } from '../safe-parse.ts'
import { bearerOf } from '../secrets.ts'
import type { Api } from './apis/api.ts'
import { chatCompletions, completions } from './apis/completions.ts'
import { messages } from './apis/messages.ts'
import { responses } from './apis/responses.ts'
import { type Calls, PassedOn } from './calls.ts'
import { readOutcome } from './outcome.ts'
import type { OpenRollout, Rollouts } from './rollouts.ts'
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
  let inHand = 0
  let closing = false
  let idle: () => void = () => {}
  const closed = new AbortController()
  const app = new Hono<HttpEnv>({
    getPath: (request, options) => (options?.env?.incoming.url ?? request.url).split('?')[0],
  })

  app.onError((error, { env: { outgoing } }) => {
    if (!outgoing.headersSent && !outgoing.destroyed) return refused(error)
    outgoing.destroy()
    return WRITTEN
  })
  app.notFound((c) => {
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
  for (const [path, api] of Object.entries(APIS))
    app.all(`/rollouts/:id${path}`, async (c) => {
      try {
        assertPost(c)
        await callOf(rollouts.find(c.req.param('id'), authorizationOf(c)), api, c.env)
        return WRITTEN
      } catch (error) {
        throw worded(error, api)
      }
    })
  app.all('/rollouts/:id/v1/models', (c) => answer(200, { object: 'list', data: [cardOf(c)] }))
  app.all('/rollouts/:id/v1/models/*', (c) => {
    const card = cardOf(c)
    const asked = decoded(c.req.path.slice(`/rollouts/${c.req.param('id')}/v1/models/`.length))
    if (asked === card.id) return answer(200, card)
    throw apiError(
      404,
      `the model '${asked.slice(0, 200)}' does not exist; this rollout is played by '${card.id}'`,
      { param: 'model', code: 'model_not_found' },
    )
  })
  app.all('/rollouts/:id/outcome', async (c) => {
    assertPost(c)
    const [id, authorization] = [c.req.param('id'), authorizationOf(c)]
    // The key is checked before the body is read.
    if (!rollouts.isOver(id, authorization)) rollouts.find(id, authorization)
    const ending = readOutcome(parseBody((await bodyOf(c.env.incoming)).toString('utf8')))
    return answer(200, await rollouts.end(id, authorization, ending))
  })
  app.all('/rollouts/*', (c) => {
    throw noRoute(c, `: agents call ${Object.keys(APIS).join(', ')}`)
  })

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
  function cardOf(c: Context<HttpEnv, '/rollouts/:id/*'>) {
    const { request } = rollouts.find(c.req.param('id'), authorizationOf(c)).assignment
    return { id: targetOf(request.policyVersion).model, object: 'model', created: 0, owned_by: 'rl' }
  }

  async function take({ env: { incoming, outgoing } }: Context<HttpEnv>): Promise<Response> {
    if (closing) throw apiError(503, 'the gateway is ending', { code: 'closing' })
    const raw = await bodyOf(incoming)
    const parsed = safeParse(takeSchema, raw.byteLength === 0 ? {} : parseBody(raw.toString('utf8')))
    if (!parsed.success) {
      const [issue] = parsed.error.issues
      throw apiError(400, `${issue.path.join('.') || 'body'}: ${issue.message}`, { code: 'invalid_value' })
    }
    const { agent, wait, task } = parsed.data
    const gone = new AbortController()
    outgoing.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, closed.signal])
    const assignment = await source.take({ task, waitMs: wait * 1000, signal })
    if (assignment === null) return new Response(null, { status: 204 })
    if (gone.signal.aborted) {
      source.giveBack(assignment)
      return WRITTEN
    }
    const { rollout, key } = rollouts.open(assignment, agent)
    const { request: asked, task: found, deadlineMs } = assignment
    return answer(201, {
      id: rollout.id,
      rollout: asked.rollout,
      url: `${url}/rollouts/${rollout.id}/v1`,
      outcome_url: `${url}/rollouts/${rollout.id}/outcome`,
      key,
      model: targetOf(asked.policyVersion).model,
      task: found,
      max_calls: asked.maxSteps,
      seed: asked.seed,
      deadline_seconds: deadlineMs / 1000,
    })
  }

  function bodyOf(request: IncomingMessage): Promise<Buffer> {
    const tooLong = () => bodyTooLarge(maxBodyBytes)
    if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) throw tooLong()
    return readAll(request, maxBodyBytes, tooLong)
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
