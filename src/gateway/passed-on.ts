/** A refusal of the endpoint on its way to the agent. */
import OpenAI from 'openai'
import { type RefusalWithin, wordsIn } from '../models/openai/faults.ts'

/** A refusal of the endpoint. Its status, words and Retry-After are passed on to the agent. */
export class PassedOn extends Error {
  override readonly name = 'PassedOn'
  readonly status: number
  readonly body: Buffer
  readonly retryAfter: string | undefined

  constructor(status: number, body: Buffer, retryAfter: string | undefined) {
    super(`the endpoint answered ${status}`)
    this.status = status
    this.body = body
    this.retryAfter = retryAfter
  }

  /** Returns the endpoint's words. */
  said(): string {
    const text = this.body.toString('utf8')
    return wordsIn(jsonOrNull(text))?.message ?? (text.slice(0, 500) || this.message)
  }
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Whether an error is a refusal that the endpoint sent in the place of an answer, or in the middle of one. */
export function isRefusalWithin(error: unknown): error is RefusalWithin {
  return error instanceof OpenAI.APIError
}
