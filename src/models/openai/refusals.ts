/** What an endpoint does not take, as its refusals name it: it is asked otherwise from then on, and people are told once. */
import OpenAI from 'openai'
import type { ModelOptions } from '../provider.ts'
import { NEUTRAL, OPTIONAL_FIELDS, type WireOptions } from './wire.ts'

export type Refusals = {
  /** What requests leave out, and how they call their length. */
  readonly told: () => Pick<WireOptions, 'without' | 'lengthField'>
  /** Whether the refused request can be asked otherwise: without a field that the server named, or with another name of it. */
  readonly adapts: (error: unknown, sent: Readonly<Record<string, unknown>>) => boolean
  /** What to change in the config where a refusal names a field that it sets and that cannot be left out; null for any other. */
  readonly advice: (error: unknown, sent: Readonly<Record<string, unknown>>) => string | null
}

/** Fields without which sampling may be another one. */
const TELLING: ReadonlySet<string> = new Set(['top_k', 'min_p', 'repetition_penalty', 'top_p', 'temperature'])

/**
 * @param kept fields of the config, which stand over ours and are never left out
 * @param section of the config that the requests are made by
 */
export function rememberRefusals({
  kept,
  section,
  report,
}: {
  readonly kept: Readonly<Record<string, unknown>>
  readonly section: ModelOptions['section']
  readonly report: (message: string) => void
}): Refusals {
  const without = new Set<string>()
  let lengthField: WireOptions['lengthField'] = 'max_tokens'
  const key = (name: string) => (section === undefined ? name : `${section}.${name}`)

  return {
    told: () => ({ without, lengthField }),
    adapts(error, sent) {
      const names = named(error)
      // Of calls that were under way together each is refused, and each goes on by what it had sent itself.
      const leaves = (field: string) => field in sent && !(field in kept) && names(field)
      if (leaves('max_tokens') && names('max_completion_tokens')) {
        if (lengthField === 'max_tokens') report('the endpoint takes max_completion_tokens, not max_tokens')
        lengthField = 'max_completion_tokens'
        return true
      }
      const field = OPTIONAL_FIELDS.find(
        (one) => leaves(one) && (!(one in NEUTRAL) || sent[one] === NEUTRAL[one]),
      )
      if (field === undefined) return false
      if (!without.has(field) && TELLING.has(field))
        report(`the endpoint refuses ${field}: it samples by its own default, which log-probs may not tell`)
      without.add(field)
      return true
    },
    advice(error, sent) {
      const names = named(error)
      const own = Object.keys(kept).find(names)
      if (own !== undefined) return `leave ${own} out of ${key('extraBody')}`
      const field = Object.keys(KEYS).find((one) => one in sent && names(one))
      if (field === undefined) return null
      if (!(field in NEUTRAL)) return `leave ${key(KEYS[field])} out: this model does not take it`
      const evaluated =
        section === 'policy' && field === 'temperature' ? ', and evaluation.temperature to 1 or null' : ''
      return `set ${key(KEYS[field])} to 1${evaluated}: it was asked with ${sent[field]}, which this model does not take`
    },
  }
}

/** What a field is called in a section of the config. */
const KEYS: Readonly<Record<string, string>> = {
  ...{ temperature: 'temperature', top_p: 'topP' },
  ...{ reasoning_effort: 'reasoningEffort', chat_template_kwargs: 'template' },
}

/** Whether a status may say that a request is worded wrongly: hosted reasoning models refuse log-probs with 403. */
export function isWorded(status: number | undefined): boolean {
  return status === 400 || status === 403 || status === 422
}

/** Whether a refusal names a field. */
function named(error: unknown): (field: string) => boolean {
  if (!(error instanceof OpenAI.APIError) || !isWorded(error.status)) return () => false
  const said = `${error.param ?? ''} ${error.message}`
  return (field) => new RegExp(`\\b${field}\\b`).test(said)
}
