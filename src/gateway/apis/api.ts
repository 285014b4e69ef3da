/** What an agent speaks: each API is read into one call of the model, and its answer is worded as that API has it. */
import { z } from 'zod'
import { apiError } from '../../models/local/server/errors.ts'
import type { Answer } from '../answer.ts'

export type Asked = {
  /** Of the model's endpoint. */
  readonly path: '/chat/completions' | '/completions'
  /** Sent to it, but for the model's name and the fields that are wanted besides. */
  readonly body: Readonly<Record<string, unknown>>
  /** As the agent calls it; null where it names none. */
  readonly model: string | null
  readonly stream: boolean
  /** As the trajectory keeps them: messages and tools of a chat. */
  readonly messages: readonly unknown[]
  readonly tools: unknown
  /** Null where the endpoint's own bytes are the answer. */
  readonly wording: Wording | null
}

export type Wording = {
  readonly whole: (answer: Answer, model: string) => object
  /** The same as server-sent events. The answer is there before the first one is told. */
  readonly events: (
    answer: Answer,
    model: string,
  ) => readonly { readonly event: string; readonly data: object }[]
}

export type Api = {
  /** Errors: ApiError 400 that names the field. */
  readonly read: (json: unknown) => Asked
  /** A refusal in the API's own words; OpenAI's where absent. */
  readonly refusal?: (status: number, message: string) => object
}

/** @throws ApiError 400 that names the field */
export function checked<Schema extends z.ZodType>(schema: Schema, json: unknown): z.output<Schema> {
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys') {
    const field = [...path, issue.keys[0]].join('.')
    throw apiError(400, `'${field.slice(0, 200)}' is not passed on by the gateway`, {
      param: field,
      code: 'unsupported_parameter',
    })
  }
  const param = path.join('.')
  throw apiError(400, `${param || 'body'}: ${issue.message}`, { param: param || null, code: 'invalid_value' })
}

/** The fields that hold something. */
export function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  )
}

export const one = z.literal(1, 'a rollout has one answer a call: n is 1').nullish()
