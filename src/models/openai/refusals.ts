/** Fields that an endpoint refuses. Later requests go without them, and people are told once. */
import OpenAI from 'openai'
import type { ModelOptions } from '../provider.ts'
import { NEUTRAL, OPTIONAL_FIELDS, type Wire, type WireOptions } from './wire.ts'

export type Refusals = {
  /** Returns the fields that requests leave out, and their name for the length. */
  readonly told: () => Pick<WireOptions, 'without' | 'lengthField'>
  /**
   * Returns whether the refused request can be sent in another form: without a named field, or with another name of it.
   */
  readonly adapts: (error: unknown, sent: Wire['body']) => boolean
  /**
   * Returns which key of the config to change, if the refusal names its field and it cannot be left out. Returns null
   * otherwise.
   */
  readonly advice: (error: unknown, sent: Wire['body']) => string | null
}

/** If one of these fields is left out, sampling may change. */
const TELLING: ReadonlySet<string> = new Set(['top_k', 'min_p', 'repetition_penalty', 'top_p', 'temperature'])

/**
 * Remembers what the endpoint refuses.
 * @param kept fields from the config. They replace others and are never left out.
 * @param section section of the config that makes the requests
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
      // Calls that run together are all refused. Each is judged by what it sent itself.
      const leaves = (field: string) => field in sent && !(field in kept) && place(field) >= 0
      // A text completion has only one name for its length.
      const renamed = 'messages' in sent && leaves('max_tokens') && place('max_completion_tokens') >= 0
      const fields = OPTIONAL_FIELDS.filter(
        (one) => leaves(one) && (!(one in NEUTRAL) || sent[one] === NEUTRAL[one]),
      )
      // The refused field stands first. Some servers list all accepted fields after it.
      const [field] = [...fields, ...(renamed ? ['max_tokens'] : [])].sort((a, b) => place(a) - place(b))
      if (field === undefined) {
        // The refusal is final and names fields that were not sent, e.g. from the prompt's own words. So earlier
        // refusals were not about these fields either.
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

/** Names of fields in a section of the config. */
const KEYS: Readonly<Record<string, string>> = {
  ...{ temperature: 'temperature', top_p: 'topP' },
  ...{ reasoning_effort: 'reasoningEffort', chat_template_kwargs: 'template' },
}

/** Returns whether a status may mean a wrong field. Hosted reasoning models refuse log-probs with 403. */
export function isWorded(status: number | undefined): boolean {
  return status === 400 || status === 403 || status === 422
}

/**
 * Returns a function that finds a field in a refusal. The refusal's `param` stands first. -1 if the field is absent.
 */
function placesIn(error: unknown): (field: string) => number {
  if (!(error instanceof OpenAI.APIError) || !isWorded(error.status)) return () => -1
  const said = `${error.param ?? ''} ${error.message}`
  return (field) => said.search(new RegExp(`(?<!\\w)${literally(field)}(?!\\w)`))
}

/** Escapes a name of the config for a regular expression. */
function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
