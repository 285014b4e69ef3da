/** What an endpoint does not take, as its refusals name it: it is asked otherwise from then on, and people are told once. */
import OpenAI from 'openai'
import type { ModelOptions } from '../provider.ts'
import { NEUTRAL, OPTIONAL_FIELDS, type Wire, type WireOptions } from './wire.ts'

export type Refusals = {
  /** What requests leave out, and how they call their length. */
  readonly told: () => Pick<WireOptions, 'without' | 'lengthField'>
  /** Whether the refused request can be asked otherwise: without a field that the server named, or with another name of it. */
  readonly adapts: (error: unknown, sent: Wire['body']) => boolean
  /** What to change in the config where a refusal names a field that it sets and that cannot be left out; null for any other. */
  readonly advice: (error: unknown, sent: Wire['body']) => string | null
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
  const said = new Set<string>()
  let lengthField: WireOptions['lengthField'] = 'max_tokens'
  const key = (name: string) => (section === undefined ? name : `${section}.${name}`)

  return {
    told: () => ({ without, lengthField }),
    adapts(error, sent) {
      const place = placesIn(error)
      // Of calls that were under way together each is refused, and each goes on by what it had sent itself.
      const leaves = (field: string) => field in sent && !(field in kept) && place(field) >= 0
      // A text completion has one name for its length.
      const renamed = 'messages' in sent && leaves('max_tokens') && place('max_completion_tokens') >= 0
      const fields = OPTIONAL_FIELDS.filter(
        (one) => leaves(one) && (!(one in NEUTRAL) || sent[one] === NEUTRAL[one]),
      )
      // What is refused stands first; after it some servers list all that they take.
      const [field] = [...fields, ...(renamed ? ['max_tokens'] : [])].sort((a, b) => place(a) - place(b))
      if (field === undefined) {
        // Refused for good in words that name what was not sent, such as a prompt's own: it was not about those fields.
        for (const one of without) if (!(one in sent) && place(one) >= 0) without.delete(one)
        return false
      }
      if (field === 'max_tokens') {
        if (lengthField === 'max_tokens') report('the endpoint takes max_completion_tokens, not max_tokens')
        lengthField = 'max_completion_tokens'
        return true
      }
      if (!said.has(field) && TELLING.has(field))
        report(`the endpoint refuses ${field}: it samples by its own default, which log-probs may not tell`)
      said.add(field)
      without.add(field)
      return true
    },
    advice(error, sent) {
      const place = placesIn(error)
      const names = (field: string) => place(field) >= 0
      const own = Object.keys(kept).find(names)
      if (own !== undefined) return `leave ${own} out of ${key('extraBody')}`
      const field = Object.keys(KEYS).find((one) => one in sent && names(one))
      if (field === undefined) return null
      if (!(field in NEUTRAL)) return `leave ${key(KEYS[field])} out: this model does not take it`
      const evaluated = section === 'policy' ? `, and evaluation.${KEYS[field]} to 1 or null` : ''
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

/** Where a refusal names a field, first of all as its `param`; -1 where it does not. */
function placesIn(error: unknown): (field: string) => number {
  if (!(error instanceof OpenAI.APIError) || !isWorded(error.status)) return () => -1
  const said = `${error.param ?? ''} ${error.message}`
  return (field) => said.search(new RegExp(`(?<!\\w)${literally(field)}(?!\\w)`))
}

/** A name of the config may hold what has a meaning in an expression. */
function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
