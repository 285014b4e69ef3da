/** Reads bodies of requests before a schema checks them. */
import type { z } from 'zod'
import { apiError } from './errors.ts'

/**
 * Parses the body of a request.
 * @throws ApiError 400 if the body is not JSON, or is nested too deeply
 */
export function parseBody(text: string): unknown {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw apiError(400, 'the body is not JSON', { code: 'invalid_json' })
  }
  if (isDeep(body)) throw apiError(400, 'the body is nested too deeply', { code: 'invalid_json' })
  return body
}

/**
 * Removes unknown fields that are null from a body. Null asks for nothing, whatever the field means. Returns whether
 * there were any.
 */
export function dropNulls(json: unknown, issues: readonly z.core.$ZodIssue[]): boolean {
  let dropped = false
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue
    const holder = issue.path.reduce((value, key) => (value as Fields)[key], json) as Fields
    for (const key of issue.keys)
      if (holder[key] === null) {
        delete holder[key]
        dropped = true
      }
  }
  return dropped
}

type Fields = Record<PropertyKey, unknown>

const MOST_DEPTH = 200

/** Returns whether a value is nested too deeply for recursive code, which could run out of stack. */
export function isDeep(json: unknown): boolean {
  let level = [json]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_DEPTH) return true
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    )
  }
  return false
}
