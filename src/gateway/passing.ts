/** Answers of the endpoint on their way to the agent: read, kept as a step, and sent. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { type RefusalWithin, utf8Of } from '../models/openai/faults.ts'
import { type ApiError, apiError } from '../openai-api/errors.ts'
import { type Answer, answerStream, readBody } from './answer.ts'
import type { Asked, Wording } from './apis/api.ts'
import { isRefusalWithin, type PassedOn } from './passed-on.ts'
import { readAll, readable, whyBroken } from './upstream.ts'

/** Longest answer of a model. With log-probs a token takes some 150 bytes. */
const MOST_ANSWER_BYTES = 64_000_000

/** An answer on its way to the agent. */
export type Passing = {
  readonly answer: IncomingMessage
  readonly response: ServerResponse
  readonly keep: (answer: Answer) => void
  /** Name by which the endpoint was asked. */
  readonly model: string
  /** Returns a refusal inside the answer in the form for the agent. */
  readonly refused: (refusal: RefusalWithin) => PassedOn
}

/** Sends the bytes unchanged. They are read first, so a broken answer is a fault and no step. */
export async function passWhole({ answer, response, keep, model }: Passing): Promise<void> {
  const bytes = await readAll(answer, MOST_ANSWER_BYTES, tooLong)
  keep(readBody(utf8Of(bytes), model))
  if (response.destroyed) return
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.byteLength })
  response.end(bytes)
}

/** Sends the answer in the agent's own API. It is read and kept first, so a broken answer is a fault and no step. */
export async function passWorded(
  { answer, response, keep, model }: Passing,
  wordedAs: (answer: Answer) => { readonly type: string; readonly text: string },
): Promise<void> {
  const bytes = await readAll(answer, MOST_ANSWER_BYTES, tooLong)
  const read = readBody(utf8Of(bytes), model)
  keep(read)
  if (response.destroyed) return
  const { type, text } = wordedAs(read)
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache' }).end(text)
}

export function worded({ whole, events }: Wording, { stream }: Asked, answer: Answer, model: string) {
  if (!stream) return { type: 'application/json', text: JSON.stringify(whole(answer, model)) }
  const text = events(answer, model).map(
    ({ event, data }) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
  )
  return { type: 'text/event-stream; charset=utf-8', text: text.join('') }
}

/**
 * Passes events on as they come, beginning with the first readable one. So an answer that is no stream is refused with
 * a status. If the stream breaks, so does the agent's, and nothing is kept. An agent may hang up at the last event. So
 * the answer is kept before the agent sees that event.
 */
export async function passStream({ answer, response, keep, model, refused }: Passing): Promise<void> {
  const stream = answerStream(model)
  const body = readable(answer)
  const held: Buffer[] = []
  let kept = false
  let bytes = 0
  function pass(): boolean {
    if (!response.headersSent)
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache',
      })
    return response.write(Buffer.concat(held.splice(0)))
  }
  try {
    for await (const part of parts(answer, body)) {
      bytes += part.byteLength
      if (bytes > MOST_ANSWER_BYTES) throw tooLong()
      if (!kept) stream.push(part)
      if (!kept && stream.over()) {
        keep(stream.end())
        kept = true
      }
      held.push(part)
      if (stream.begun() && !pass()) await drained(response, answer)
    }
    if (!kept) keep(stream.end())
    if (held.length > 0) pass()
    response.end()
  } catch (error) {
    if (kept) return void response.end()
    if (response.headersSent) await tornOff(response, isRefusalWithin(error) ? refused(error).body : null)
    throw error
  }
}

/** Yields the body of an answer. Throws an ApiError if it breaks off. */
async function* parts(answer: IncomingMessage, body: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const part of body) yield part as Buffer
  } catch (error) {
    throw whyBroken(answer, error as Error)
  }
  if (!answer.complete) throw whyBroken(answer, null)
}

/** A stream that has begun can send no status. So the endpoint's words are its last event, and it has no end. */
async function tornOff(response: ServerResponse, refusal: Buffer | null): Promise<void> {
  if (refusal && !response.destroyed)
    await new Promise<void>((resolve) => {
      response.once('close', resolve)
      response.write(`data: ${refusal}\n\n`, () => resolve())
    })
  response.destroy()
}

/** Resolves when the agent reads on, or when the agent or the answer is gone. The answer ends at the call's limit and with the rollout. */
function drained(response: ServerResponse, answer: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      response.removeListener('drain', go)
      response.removeListener('close', go)
      answer.removeListener('close', go)
      resolve()
    }
    if (answer.destroyed) return resolve()
    response.on('drain', go)
    response.on('close', go)
    answer.on('close', go)
  })
}

export function tooLong(): ApiError {
  return apiError(502, 'the answer of the model is too long', { code: 'bad_answer' })
}
