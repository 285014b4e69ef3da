/** Questions to a server of OpenEnv or ORS by HTTP: its schema, and its tasks. Answers are bounded. */
import { explain, RlError } from '../../errors.ts'
import { isRecord } from '../../is-record.ts'
import type { Task } from '../port.ts'
import { broken, connectionWords, infra, isKeyRefused } from './fault.ts'
import { type Naming, taskFrom } from './tasks.ts'

const MOST_BYTES = 32 * 1024 * 1024

export type Requests = {
  /** Resolves to null if the server does not know the request. */
  readonly get: (path: string) => Promise<unknown>
  readonly post: (path: string, body: unknown) => Promise<unknown>
}

/** @param keyHint hint if the server wants a key */
export function openRequests(
  url: string,
  timeoutMs: number,
  headers: Readonly<Record<string, string>> = {},
  keyHint?: string,
): Requests {
  const base = url.replace(/\/+$/, '')
  async function ask(path: string, init: RequestInit): Promise<unknown> {
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      const answer = await fetch(`${base}${path}`, { ...init, signal, redirect: 'error' })
      if (!answer.ok) {
        await answer.body?.cancel()
        if (answer.status === 404 || answer.status === 405 || answer.status === 501) return null
        const hint = isKeyRefused(answer.status) ? keyHint : undefined
        throw infra(`${base}${path} answers ${answer.status}`, undefined, hint)
      }
      return JSON.parse(await boundedText(answer, `${base}${path}`))
    } catch (cause) {
      if (cause instanceof SyntaxError) throw broken(`${base}${path} is no JSON: ${explain(cause)}`)
      if (!(cause instanceof RlError)) throw infra(`${base}${path}: ${connectionWords(cause)}`, cause)
      throw cause
    }
  }
  return {
    get: (path) => ask(path, { headers }),
    post: (path, body) =>
      ask(path, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  }
}

async function boundedText(answer: Response, place: string): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of answer.body ?? []) {
    size += part.byteLength
    if (size > MOST_BYTES) throw broken(`${place} sends more than ${MOST_BYTES} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Tasks that a server has of its own. */
export type TaskApi = {
  /** Name of the environment, as the server writes it. */
  readonly name: string
  readonly splits: ReadonlySet<string>
  /** Resolves to the tasks of a split: none if the server does not have it. */
  readonly tasks: (split: string, naming: Naming) => Promise<readonly Task[]>
}

const MOST_TASKS = 100_000

/**
 * Resolves to the task API of a server. Resolves to null if it has none.
 *
 * @param wanted name of the environment, in any case of letters; null: the first one
 */
export async function taskApi(requests: Requests, wanted: string | null = null): Promise<TaskApi | null> {
  const names = await requests.get('/list_environments')
  const isWanted = (one: unknown) =>
    typeof one === 'string' && (wanted === null || one.toLowerCase() === wanted.toLowerCase())
  const name: unknown = Array.isArray(names) ? names.find(isWanted) : undefined
  if (typeof name !== 'string') return null
  const listed = await requests.get(`/${encodeURIComponent(name)}/splits`)
  if (!Array.isArray(listed)) return null
  const splits = listed.flatMap((one) =>
    isRecord(one) && typeof one.name === 'string' ? [one.name] : typeof one === 'string' ? [one] : [],
  )
  const has = new Set(splits)
  return {
    name,
    splits: has,
    async tasks(split, naming) {
      if (!has.has(split)) return []
      const values = await taskValues(requests, name, split)
      const tasks = values.map((value, index) => taskFrom(value, `${split}-${index}`, naming))
      const ids = new Set(tasks.map(({ id }) => id))
      if (ids.size < tasks.length) throw broken(`${name}: two tasks of '${split}' have the same id`)
      return tasks
    },
  }
}

/** Resolves to the tasks of a split, as the server describes them. */
async function taskValues(requests: Requests, name: string, split: string): Promise<readonly unknown[]> {
  const place = `/${encodeURIComponent(name)}`
  const counted = await requests.post(`${place}/num_tasks`, { split })
  const count = isRecord(counted) && typeof counted.num_tasks === 'number' ? counted.num_tasks : 0
  const stop = Math.min(Math.max(0, Math.floor(count)), MOST_TASKS)
  const range = await requests.post(`${place}/task_range`, { split, start: 0, stop })
  if (isRecord(range) && Array.isArray(range.tasks)) return range.tasks.slice(0, MOST_TASKS)
  const values: unknown[] = []
  for (let index = 0; index < stop; index++) {
    const found = await requests.post(`${place}/task`, { split, index })
    if (!isRecord(found)) throw broken(`${place}/task gives no task ${index} of '${split}'`)
    values.push(found.task)
  }
  return values
}
