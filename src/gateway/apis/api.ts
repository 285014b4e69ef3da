/**
 * APIs that agents speak. Each one reads a request into one call of the model, and words the answer in its own shape.
 */
import { z } from 'zod'
import { dropNulls } from '../../openai-api/bodies.ts'
import { apiError } from '../../openai-api/errors.ts'
import { firstIssue, safeParse } from '../../safe-parse.ts'
import type { Answer } from '../answer.ts'

export type Asked = {
  /** Path at the model's endpoint. */
  readonly path: '/chat/completions' | '/completions'
  /** Body for the endpoint, without the model's name and the gateway's own fields. */
  readonly body: Readonly<Record<string, unknown>>
  /** The model's name in the agent's call. Null if the agent names none. */
  readonly model: string | null
  readonly stream: boolean
  /** Messages and tools of a chat, as the trajectory keeps them. */
  readonly messages: readonly unknown[]
  readonly tools: unknown
  /** Null if the endpoint's own bytes are the answer. */
  readonly wording: Wording | null
}

export type Wording = {
  readonly whole: (answer: Answer, model: string) => object
  /** As `whole`, in server-sent events. The answer is complete before the first event is sent. */
  readonly events: (
    answer: Answer,
    model: string,
  ) => readonly { readonly event: string; readonly data: object }[]
}

export type Api = {
  /** Reads a body. Errors: ApiError 400 with the name of the field. */
  readonly read: (json: unknown) => Asked
  /** A refusal in the API's own words. OpenAI's wording is used if it is absent. */
  readonly refusal?: (status: number, message: string) => object
}

/** @throws ApiError 400 with the name of the field */
export function checked<Schema extends z.ZodType>(schema: Schema, json: unknown): z.output<Schema> {
  let parsed = safeParse(schema, json)
  while (!parsed.success && dropNulls(json, parsed.error.issues.flatMap(everyOne)))
    parsed = safeParse(schema, json)
  if (parsed.success) return parsed.data
  const outer = firstIssue(parsed.error)
  const issue = innermost(outer)
  const path = issue.path.map(String)
  const notPassedOn = (field: string, what: string) =>
    apiError(400, `${what.slice(0, 200)} is not passed on by the gateway`, {
      param: field,
      code: 'unsupported_parameter',
    })
  if (issue.code === 'unrecognized_keys') {
    const field = [...path, issue.keys[0]].join('.')
    throw notPassedOn(field, `'${field}'`)
  }
  const param = path.join('.')
  const kind = issue.path.reduce((value, key) => (value as Record<PropertyKey, unknown> | null)?.[key], json)
  if (issue !== outer && typeof kind === 'string') throw notPassedOn(param, `${param}: '${kind}'`)
  throw apiError(400, `${param || 'body'}: ${issue.message}`, { param: param || null, code: 'invalid_value' })
}

type Issue = z.core.$ZodIssue

/** Returns the issues of each form that a value could have. */
function everyOne(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const inner = issue.errors.flatMap((form) => form.flatMap(everyOne))
  return inner.map((one) => ({ ...one, path: [...issue.path, ...one.path] }))
}

/** Returns the issue of the form that matched furthest, if no form of a value fits. */
function innermost(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue
  const inner = issue.errors.flatMap(([first]) => (first ? [innermost(first)] : []))
  const deepest = inner.reduce(
    (a: Issue | undefined, b) => (a && a.path.length >= b.path.length ? a : b),
    undefined,
  )
  if (!deepest || deepest.path.length === 0) return issue
  return { ...deepest, path: [...issue.path, ...deepest.path] }
}

/** Returns the fields that are neither null nor undefined. */
export function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  )
}

export const one = z.literal(1, 'a rollout has one answer a call: n is 1').nullish()
