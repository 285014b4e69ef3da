/** Messages of OpenEnv's WebSocket, as a server reads and writes them. */
import { isRecord } from '../../../is-record.ts'

/** Codes of errors. A session goes on after each but CAPACITY_REACHED and SESSION_TIMEOUT. */
export type ErrorCode =
  | 'INVALID_JSON'
  | 'UNKNOWN_TYPE'
  | 'VALIDATION_ERROR'
  | 'EXECUTION_ERROR'
  | 'CAPACITY_REACHED'

export type Answer = {
  readonly type: 'observation' | 'state' | 'error'
  readonly data: Readonly<Record<string, unknown>>
}

export type Asked =
  | { readonly type: 'reset'; readonly start: Start }
  | { readonly type: 'step'; readonly action: string }
  | { readonly type: 'state' }
  | { readonly type: 'close' }

/** Content of a reset. Keys that no environment here knows are ignored, as OpenEnv does. */
export type Start = {
  readonly seed: number | null
  readonly episodeId: string | null
  readonly split: string | null
  readonly index: number | null
  readonly task: string | null
  readonly reference: boolean
}

const MOST_ACTION = 200_000
const MOST_ID = 256

export function errorAnswer(
  code: ErrorCode,
  message: string,
  more: Readonly<Record<string, unknown>> = {},
): Answer {
  return { type: 'error', data: { message, code, ...more } }
}

/** Returns what a message asks for, or the answer that refuses it. */
export function readMessage(text: string): Asked | Answer {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return errorAnswer('INVALID_JSON', `Invalid JSON: ${error instanceof Error ? error.message : error}`)
  }
  if (!isRecord(value)) return errorAnswer('VALIDATION_ERROR', 'a message is an object with a type')
  const { type, data = {} } = value
  if (type === 'state') return { type }
  if (type === 'close') return { type }
  if (type !== 'reset' && type !== 'step')
    return errorAnswer(
      'UNKNOWN_TYPE',
      `Unknown message type: ${typeof type === 'string' ? type.slice(0, 100) : 'no text'}`,
    )
  if (!isRecord(data)) return invalid('data', 'expected an object')
  return type === 'reset' ? readStart(data) : readAction(data)
}

function readAction(data: Readonly<Record<string, unknown>>): Asked | Answer {
  const { action } = data
  const other = Object.keys(data).find((key) => key !== 'action' && key !== 'metadata')
  if (other !== undefined) return invalid(other.slice(0, 100), 'an action has the fields action and metadata')
  if (typeof action !== 'string') return invalid('action', 'expected a text')
  if (action.length > MOST_ACTION) return invalid('action', `expected at most ${MOST_ACTION} characters`)
  return { type: 'step', action }
}

function readStart(data: Readonly<Record<string, unknown>>): Asked | Answer {
  const { seed = null, episode_id: episodeId = null, split = null, index = null, task = null } = data
  const isText = (value: unknown) => value === null || (typeof value === 'string' && value.length <= MOST_ID)
  const isIndex = (value: unknown) => value === null || Number.isSafeInteger(value)
  if (!isIndex(seed) || Number(seed) < 0) return invalid('seed', 'expected a whole number of at least 0')
  if (!isText(episodeId)) return invalid('episode_id', `expected a text of at most ${MOST_ID} characters`)
  if (!isText(split)) return invalid('split', 'expected the name of a split')
  if (!isIndex(index)) return invalid('index', 'expected a whole number')
  const id = isRecord(task) ? task.id : task
  if (!isText(id ?? null)) return invalid('task', 'expected the id of a task, or a task of the task API')
  return {
    type: 'reset',
    start: {
      seed: numberOf(seed),
      episodeId: textOf(episodeId),
      split: textOf(split),
      index: numberOf(index),
      task: textOf(id),
      reference: data.reference === true,
    },
  }
}

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const invalid = (field: string, message: string): Answer =>
  errorAnswer('VALIDATION_ERROR', `${field}: ${message}`, {
    errors: [{ type: 'value_error', loc: [field], msg: message }],
  })
