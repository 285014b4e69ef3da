/** Questions of one session to an ORS server. Answers are bounded before they are parsed, and each has a deadline. */
import { explain, RlError } from '../../errors.ts'
import { isRecord } from '../../is-record.ts'
import { boundedLines } from '../sessions/bounded-lines.ts'
import { broken, connectionWords, infra, isKeyRefused } from '../sessions/fault.ts'
import { namedFile } from '../sessions/files.ts'

/** Longest answer that is read, in bytes. */
const MOST_BYTES = 8 * 1024 * 1024
export const KEY_HINT = 'environment.ors.tokenEnv names the variable with the key for the server'

export type OrsCalls = {
  /** @param within time for this question in place of the usual one, ms */
  readonly json: (method: 'GET' | 'POST', path: string, body?: unknown, within?: number) => Promise<unknown>
  /** Resolves to the joined pieces of a stream, and to the id that it began with. */
  readonly stream: (path: string, body: unknown) => Promise<Streamed>
  /** Breaks off all that is being asked. */
  readonly stop: () => void
}

type Streamed = { readonly id: string; readonly text: string }

export type Asking = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

/** @param session id of the session, or null before there is one */
export function orsCalls({ url, headers, timeoutMs }: Asking, session: string | null): OrsCalls {
  const base = url.replace(/\/+$/, '')
  const stopped = new AbortController()

  async function ask<Answer>(
    method: 'GET' | 'POST',
    path: string,
    body: unknown,
    limitMs: number,
    read: (answer: Response) => Promise<Answer>,
  ): Promise<Answer> {
    const late = AbortSignal.timeout(limitMs)
    try {
      const answer = await fetch(`${base}${path}`, {
        method,
        headers: {
          ...headers,
          ...(session === null ? {} : { 'x-session-id': session }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.any([late, stopped.signal]),
        redirect: 'error',
      })
      if (!answer.ok) throw refusal(answer.status, path, await readText(answer))
      return await read(answer)
    } catch (cause) {
      if (cause instanceof RlError) throw cause
      if (late.aborted) throw infra(`${base}${path}: no answer within ${limitMs / 1000} s`, cause)
      throw infra(`${base}${path}: ${connectionWords(cause)}`, cause)
    }
  }

  return {
    json: (method, path, body, limitMs = timeoutMs) =>
      ask(method, path, body, limitMs, async (answer) => jsonIn(await readText(answer), path)),
    stream: (path, body) => ask('POST', path, body, timeoutMs, (answer) => readPieces(answer, path)),
    stop: () => stopped.abort(),
  }
}

/** A fault by the status of an answer. */
function refusal(status: number, path: string, text: string): RlError {
  const said = `${path} answers ${status}: ${text.slice(0, 500)}`
  if (status === 500) return new RlError(said, { code: 'ors.failed', hint: 'the environment itself failed' })
  if (status === 400 || status === 422)
    return new RlError(said, { code: 'ors.refused', hint: 'rl ors check tells what the server speaks' })
  return infra(said, undefined, isKeyRefused(status) ? KEY_HINT : undefined)
}

export function jsonIn(text: string, place: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw broken(`${place} is no JSON: ${explain(cause)}`)
  }
}

async function readText(answer: Response): Promise<string> {
  const parts: Uint8Array[] = []
  await eachPart(answer, (part) => parts.push(part))
  return Buffer.concat(parts).toString('utf8')
}

async function eachPart(answer: Response, take: (part: Uint8Array) => unknown): Promise<void> {
  let size = 0
  for await (const part of answer.body ?? []) {
    size += part.byteLength
    if (size > MOST_BYTES) throw broken(`an answer has more than ${MOST_BYTES} bytes`)
    take(part)
  }
}

/** Reads a stream of events: an id, pieces, and the last piece. Comments between them keep it alive. */
async function readPieces(answer: Response, path: string): Promise<Streamed> {
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    await answer.body?.cancel()
    throw broken(`${path} answers with no stream of events`)
  }
  let id = ''
  const pieces: string[] = []
  let isWhole = false
  const events = eventLines((event, data) => {
    if (isWhole) return
    if (event === 'task_id') id = data.trim()
    else if (event === 'error') throw new RlError(`${path}: ${data.slice(0, 500)}`, { code: 'ors.failed' })
    else if (event === 'chunk' || event === 'end') {
      pieces.push(data)
      isWhole = event === 'end'
    } else throw broken(`${path} sends an event '${event.slice(0, 50)}'`)
  })
  await eachPart(answer, (part) => events(Buffer.from(part)))
  if (!isWhole) throw infra(`${path}: the stream ended before its last piece`)
  return { id, text: pieces.join('') }
}

/** Returns a reader of the lines of a stream of events. */
function eventLines(tell: (event: string, data: string) => void): (part: Buffer) => void {
  let event = ''
  let data: string[] = []
  return boundedLines(MOST_BYTES, {
    tooLong() {
      throw broken(`an event has more than ${MOST_BYTES} bytes`)
    },
    line(bytes) {
      const line = bytes.toString('utf8').replace(/\r$/, '')
      if (line === '') {
        if (event !== '') tell(event, data.join('\n'))
        event = ''
        data = []
      }
      const [, field, value = ''] = /^(event|data): ?(.*)$/s.exec(line) ?? []
      if (field === 'event') event = value
      if (field === 'data') data.push(value)
    },
  }).take
}

/**
 * Returns text blocks as text. Images are told by type, size and digest.
 *
 * @param files takes the images
 */
export function blocksText(blocks: unknown, place: string, files: Uint8Array[] = []): string {
  if (!Array.isArray(blocks)) throw broken(`${place} has no blocks`)
  return blocks
    .map((block: unknown) => {
      if (isRecord(block) && block.type === 'text' && typeof block.text === 'string') return block.text
      if (isRecord(block) && block.type === 'image' && typeof block.data === 'string')
        return namedFile('image', String(block.mimeType), block.data, files)
      throw broken(`${place} has a block that is neither text nor image`)
    })
    .join('\n')
}
