/** Serves an environment of ours to OpenEnv's clients: HTTP for what it is, WebSockets for episodes. */
import { randomBytes, randomInt } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { explain, RlError } from '../errors.ts'
import { isRecord } from '../is-record.ts'
import { type HttpEnv, listen } from '../platform/listen.ts'
import { bearerOf } from '../secrets.ts'
import { metadataOf, SCHEMAS } from './openenv/serving/schema.ts'
import { servedSession } from './openenv/serving/session.ts'
import { openSockets } from './openenv/serving/sockets.ts'
import { type ServedTasks, servedTasks } from './openenv/serving/tasks.ts'
import { isForeign } from './own-machine.ts'
import type { OpenSetting } from './setting.ts'

export type ServeOptions = {
  /** Default: loopback. */
  readonly host?: string
  /** Default: 0, which takes a free port. */
  readonly port?: number
  /** Bearer token that all but /health needs. Null: none. Default: a random one. */
  readonly token?: string | null
  /** Served names of splits, and what the environment calls them. */
  readonly splits: Readonly<Record<string, string>>
  /** Split of tasks that a reset does not name. */
  readonly split: string
  readonly maxSteps: number
  readonly maxSessions?: number
  readonly maxMessageBytes?: number
  readonly idleMs?: number
  /** Whether a reset may ask for a task's own solution. */
  readonly references?: boolean
}

export type EnvironmentServer = {
  readonly url: string
  readonly token: string | null
  readonly sessions: () => number
  /** Ends all sessions and connections. The environment stays open. */
  readonly close: () => Promise<void>
}

const MOST_BODY = 64 * 1024
const MOST_SEED = 2 ** 31

/** @throws RlError `server.listen` */
export async function serveEnvironment(
  { setting, environment }: OpenSetting,
  options: ServeOptions,
): Promise<EnvironmentServer> {
  const { host = '127.0.0.1', port = 0, splits, split, maxSteps, references = false } = options
  const token = options.token === undefined ? randomBytes(24).toString('base64url') : options.token
  const isBearer = token === null ? null : bearerOf(token)
  const isAllowed = ({ headers }: IncomingMessage) =>
    isBearer === null ? !isForeign(headers) : isBearer(headers.authorization)
  const tasks = servedTasks(environment, splits)
  const sockets = openSockets({
    maxSessions: options.maxSessions ?? 256,
    maxMessageBytes: options.maxMessageBytes ?? 1 << 20,
    idleMs: options.idleMs ?? 600_000,
    open: () =>
      servedSession({
        environment,
        tasks,
        split,
        maxSteps,
        reference: references
          ? async (task) => (await setting.reference?.(environment, task)) ?? null
          : undefined,
        chance: () => randomInt(MOST_SEED),
      }),
    isAllowed,
  })
  const app = new Hono<HttpEnv>()
  app.onError((error, c) => answerTo(error, c))
  app.notFound((c) => c.json({ detail: 'Not Found' }, 404))
  app.get('/health', (c) => c.json({ status: 'healthy' }))
  app.use(async (c, next) => {
    if (isAllowed(c.env.incoming)) return next()
    const detail =
      token === null
        ? 'a server without a token is for programs of its own machine, and for no page'
        : 'the bearer token is missing or wrong'
    return c.json({ detail }, 401)
  })
  app.use(bodyLimit({ maxSize: MOST_BODY, onError: (c) => c.json({ detail: 'the body is too large' }, 413) }))
  app.get('/metadata', (c) => c.json(metadataOf(setting.name, setting.summary)))
  app.get('/schema', (c) => c.json(SCHEMAS))
  for (const path of ['/reset', '/step'])
    app.post(path, (c) => c.json({ detail: 'episodes are played over the WebSocket /ws' }, 501))
  addTaskApi(app, setting.name, tasks)
  const listening = await listen(app, { host, port, unread: 'end', upgrade: sockets.upgrade })
  return {
    url: listening.url,
    token,
    sessions: sockets.sessions,
    async close() {
      await sockets.close()
      await listening.close()
    },
  }
}

function addTaskApi(app: Hono<HttpEnv>, name: string, tasks: ServedTasks): void {
  app.get('/list_environments', (c) => c.json([name]))
  app.use('/:environment/*', async (c, next) => {
    if (c.req.param('environment') !== name) return c.json({ detail: 'there is no such environment' }, 404)
    return next()
  })
  app.get('/:environment/splits', (c) => c.json(tasks.splits))
  app.post('/:environment/num_tasks', async (c) => {
    const { split } = await askedOf(c)
    return c.json({ num_tasks: await tasks.count(split) })
  })
  app.post('/:environment/tasks', async (c) => {
    const { split } = await askedOf(c)
    return c.json({ tasks: await tasks.range(split), env_name: name })
  })
  app.post('/:environment/task', async (c) => {
    const { split, index } = await askedOf(c)
    if (index === undefined) throw wrong('index', 'a whole number')
    return c.json({ task: await tasks.told(split, index) })
  })
  app.post('/:environment/task_range', async (c) => {
    const { split, start, stop } = await askedOf(c)
    return c.json({ tasks: await tasks.range(split, start, stop) })
  })
}

type Question = {
  readonly split: string
  readonly index?: number
  readonly start?: number
  readonly stop?: number
}

async function askedOf(c: Context): Promise<Question> {
  let body: unknown
  try {
    body = JSON.parse(await c.req.text())
  } catch {
    throw wrong('body', 'a JSON object')
  }
  if (!isRecord(body)) throw wrong('body', 'a JSON object')
  const { split } = body
  if (typeof split !== 'string') throw wrong('split', 'the name of a split')
  const number = (key: string): number | undefined => {
    const value = body[key] ?? undefined
    if (value === undefined || (typeof value === 'number' && Number.isSafeInteger(value))) return value
    throw wrong(key, 'a whole number')
  }
  return { split, index: number('index'), start: number('start'), stop: number('stop') }
}

const wrong = (field: string, expected: string) =>
  new RlError(`${field}: expected ${expected}`, { code: 'openenv.no-task' })

/** A question that names what there is not gets 400. Other errors may tell of this machine. */
function answerTo(error: Error, c: Context): Response {
  if (error instanceof RlError && error.code === 'openenv.no-task')
    return c.json({ detail: explain(error) }, 400)
  return c.json({ detail: error instanceof RlError ? explain(error) : 'the server failed' }, 500)
}
