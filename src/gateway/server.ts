/** The gateway's HTTP side: rollouts are taken up, called in and ended. Loopback and a token unless told otherwise. */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import type { Target } from '../actors/learner/targets.ts'
import { RlError } from '../errors.ts'
import { parseBody } from '../openai-api/bodies.ts'
import { apiError, toApiError } from '../openai-api/errors.ts'
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
  /** Opens `POST /rollouts`. */
  readonly token: string
  /** Takes no more, waits for calls in hand up to `ms`, and ends the connections. */
  readonly close: (ms: number) => Promise<void>
}

export type GatewayServerOptions = {
  readonly source: RolloutSource
  readonly rollouts: Rollouts
  readonly calls: Calls
  readonly targetOf: (policyVersion: number) => Target
  readonly host?: string
  readonly port?: number
  /** A random one where none is given. */
  readonly token?: string
  readonly maxBodyBytes?: number
  /** Calls in hand at a time; more are answered 429. */
  readonly maxCalls?: number
}

/** Longest time that `POST /rollouts` may wait for one. */
const LONGEST_WAIT_SECONDS = 300

const takeSchema = z.strictObject({
  agent: z.string().min(1).max(256).default('agent'),
  /** Seconds to wait where none is there. */
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

/** @throws RlError `server.listen` where the address cannot be had */
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

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0]
    const authorization = authorizationOf(request)
    if (path === '/health') return send(response, 200, { status: 'ok', open: rollouts.size() })
    if (path === '/rollouts') {
      assertMethod(request, 'POST')
      if (!isAllowed(authorization))
        throw apiError(401, 'the bearer token is missing or wrong', { code: 'invalid_api_key' })
      return take(request, response)
    }
    const [, id, rest] = /^\/rollouts\/([\w-]{1,64})(\/.*)?$/.exec(path) ?? []
    if (id === undefined) throw apiError(404, `there is no ${path.slice(0, 200)}`, { code: 'not_found' })
    switch (rest) {
      case '/v1/chat/completions':
      case '/v1/completions':
      case '/v1/responses':
      case '/v1/messages': {
        try {
          assertMethod(request, 'POST')
          return await callOf(rollouts.find(id, authorization), APIS[rest], request, response)
        } catch (error) {
          throw worded(error, APIS[rest])
        }
      }
      case '/v1/models':
        return send(response, 200, { object: 'list', data: [cardOf(id, authorization)] })
      case '/outcome': {
        assertMethod(request, 'POST')
        // The key first: a stranger's body is not even read.
        if (!rollouts.isOver(id, authorization)) rollouts.find(id, authorization)
        const ending = readOutcome(parseBody((await bodyOf(request)).toString('utf8')))
        return send(response, 200, await rollouts.end(id, authorization, ending))
      }
      default: {
        if (!rest?.startsWith('/v1/models/'))
          throw apiError(
            404,
            `there is no ${path.slice(0, 200)}: agents call ${Object.keys(APIS).join(', ')}`,
            {
              code: 'not_found',
            },
          )
        const card = cardOf(id, authorization)
        const asked = decoded(rest.slice('/v1/models/'.length))
        if (asked !== card.id)
          throw apiError(
            404,
            `the model '${asked.slice(0, 200)}' does not exist; this rollout is played by '${card.id}'`,
            {
              param: 'model',
              code: 'model_not_found',
            },
          )
        return send(response, 200, card)
      }
    }
  }

  async function callOf(rollout: OpenRollout, api: Api, request: IncomingMessage, response: ServerResponse) {
    if (closing) throw apiError(503, 'the gateway is ending', { code: 'closing' })
    if (inHand >= maxCalls)
      throw apiError(429, `${maxCalls} calls are in hand already`, { code: 'too_many_requests' })
    inHand++
    try {
      await calls(rollout, api, await bodyOf(request), response)
    } finally {
      if (--inHand === 0) idle()
    }
  }

  /** The model that plays a rollout, as the API lists it. */
  function cardOf(id: string, authorization: string | undefined) {
    const { request } = rollouts.find(id, authorization).assignment
    return { id: targetOf(request.policyVersion).model, object: 'model', created: 0, owned_by: 'rl' }
  }

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (closing) throw apiError(503, 'the gateway is ending', { code: 'closing' })
    const raw = await bodyOf(request)
    const parsed = takeSchema.safeParse(raw.byteLength === 0 ? {} : parseBody(raw.toString('utf8')))
    if (!parsed.success) {
      const [issue] = parsed.error.issues
      throw apiError(400, `${issue.path.join('.') || 'body'}: ${issue.message}`, { code: 'invalid_value' })
    }
    const { agent, wait, task } = parsed.data
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, closed.signal])
    const assignment = await source.take({ task, waitMs: wait * 1000, signal })
    if (assignment === null) {
      response.writeHead(204).end()
      return
    }
    if (gone.signal.aborted) return source.giveBack(assignment)
    const { rollout, key } = rollouts.open(assignment, agent)
    const { request: asked, task: found, deadlineMs } = assignment
    send(response, 201, {
      id: rollout.id,
      rollout: asked.rollout,
      url: `${base()}/rollouts/${rollout.id}/v1`,
      outcome_url: `${base()}/rollouts/${rollout.id}/outcome`,
      key,
      model: targetOf(asked.policyVersion).model,
      task: found,
      max_calls: asked.maxSteps,
      seed: asked.seed,
      deadline_seconds: deadlineMs / 1000,
    })
  }

  function bodyOf(request: IncomingMessage): Promise<Buffer> {
    const tooLong = () =>
      apiError(413, `the body is larger than ${maxBodyBytes} bytes`, { code: 'body_too_large' })
    if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) throw tooLong()
    return readAll(request, maxBodyBytes, tooLong)
  }

  const server = createServer({ keepAliveTimeout: 65_000, noDelay: true }, (request, response) => {
    answer(request, response).catch((error: unknown) => refuse(response, error))
  })
  server.maxHeadersCount = 100
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new RlError(`cannot listen on ${host}:${port}: ${cause.message}`, {
          code: 'server.listen',
          hint: 'choose another port',
          cause,
        }),
      ),
    )
    server.listen({ port, host, backlog: 4096 }, resolve)
  })
  const base = () => {
    const shown = host.includes(':') ? `[${host}]` : host
    return `http://${shown}:${(server.address() as AddressInfo).port}`
  }
  const url = base()

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
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
}

/** What agents speak, by path. */
const APIS: Readonly<Record<string, Api>> = {
  '/v1/chat/completions': chatCompletions,
  '/v1/completions': completions,
  '/v1/responses': responses,
  '/v1/messages': messages,
}

/** A refusal in the words of the API that was spoken. */
function worded(error: unknown, { refusal }: Api): unknown {
  if (!refusal) return error
  const as = (status: number, message: string, retryAfter?: string) =>
    new PassedOn(status, Buffer.from(JSON.stringify(refusal(status, message))), retryAfter)
  if (error instanceof PassedOn) return as(error.status, error.said(), error.retryAfter)
  const { status, message } = toApiError(error)
  return as(status, message, status === 429 || status === 503 ? '1' : undefined)
}

/** Anthropic's clients send the key in a header of its own. */
function authorizationOf({ headers }: IncomingMessage): string | undefined {
  const key = headers['x-api-key']
  return headers.authorization ?? (typeof key === 'string' ? `Bearer ${key}` : undefined)
}

/** A part of a path; as it stands where it is not encoded rightly. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function assertMethod({ method, url }: IncomingMessage, expected: string): void {
  if (method !== expected)
    throw apiError(404, `there is no ${method} ${(url ?? '').slice(0, 200)}`, { code: 'not_found' })
}

function send(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value))
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.byteLength })
  response.end(body)
}

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const refusal = error instanceof PassedOn ? error : toApiError(error)
  const { status } = refusal
  // What is left of a body that nobody reads would stand before the next request.
  if (status === 413 || status === 401) response.setHeader('connection', 'close')
  if (refusal instanceof PassedOn) {
    const retry = refusal.retryAfter === undefined ? {} : { 'retry-after': refusal.retryAfter }
    response.writeHead(status, { 'content-type': 'application/json', ...retry }).end(refusal.body)
    return
  }
  if (status === 429 || status === 503) response.setHeader('retry-after', '1')
  send(response, status, refusal.body)
}
