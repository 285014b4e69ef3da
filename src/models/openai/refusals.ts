/** Remembers what an endpoint refuses, as its refusals name it. Later requests leave it out, and people are told once. */
import OpenAI from 'openai'
import type { ModelOptions } from '../provider.ts'
import { NEUTRAL, OPTIONAL_FIELDS, type Wire, type WireOptions } from './wire.ts'

export type Refusals = {
  /** Returns the fields that requests leave out, and the name of the length field. */
  readonly told: () => Pick<WireOptions, 'without' | 'lengthField'>
  /** Returns whether the refused request can be repeated without a field that the server named, or with another name of it. */
  readonly adapts: (error: unknown, sent: Wire['body']) => boolean
  /** Returns what to change in the config if a refusal names a field that the config sets and that cannot be left out. Null for any other. */
  readonly advice: (error: unknown, sent: Wire['body']) => string | null
}

/** Fields whose absence may change the sampling. */
const TELLING: ReadonlySet<string> = new Set(['top_k', 'min_p', 'repetition_penalty', 'top_p', 'temperature'])

/**
 * @param kept fields of the config; they override ours and are never left out
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
      // Several calls may be under way and refused together. Each decides by the fields that it sent itself.
      const leaves = (field: string) => field in sent && !(field in kept) && place(field) >= 0
      // A text completion has only one name for its length.
      const renamed = 'messages' in sent && leaves('max_tokens') && place('max_completion_tokens') >= 0
      const fields = OPTIONAL_FIELDS.filter(
        (one) => leaves(one) && (!(one in NEUTRAL) || sent[one] === NEUTRAL[one]),
      )
      // The refused field comes first. Some servers list all fields that they take after it.
      const [field] = [...fields, ...(renamed ? ['max_tokens'] : [])].sort((a, b) => place(a) - place(b))
      if (field === undefined) {
        // The final refusal names a field that was not sent, e.g. a word of the prompt. So earlier refusals were not about these fields
        // either.
        for (const one of without) if (!(one in sent) && place(one) >= 0) without.delete(one)
        return false
      }
      if (field === 'max_tokens') {
        if (lengthField === 'max_tokens') report('the endpoint takes max_completion_tokens, not max_tokens')
        lengthField = 'max_completion_tokens'
        return true
      }
      if (!said.has(field) && TELLING.has(field))
        report(
          `the endpoint refuses ${field}: it samples with its own default, and log-probs may not show that`,
        )
      said.add(field)
      without.add(field)
      return true
    },
    advice(error, sent) {
      const place = placesIn(error)
      const names = (field: string) => place(field) >= 0
      const own = Object.keys(kept).find(names)
      if (own !== undefined) return `leave ${own} out of ${key('extraBody')}`
      const set = Object.entries(KEYS).find(([one]) => one in sent && names(one))
      if (set === undefined) return null
      const [field, name] = set
      if (!(field in NEUTRAL)) return `leave ${key(name)} out: this model does not take it`
      const evaluated = section === 'policy' ? `, and evaluation.${name} to 1 or null` : ''
      return `set ${key(name)} to 1${evaluated}: it was asked with ${sent[field]}, which this model does not take`
    },
  }
}

/** Keys of a config section by field. */
const KEYS: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_p: 'topP',
  reasoning_effort: 'reasoningEffort',
  chat_template_kwargs: 'template',
}

/** Returns whether a status may mean a wrongly worded request. Hosted reasoning models refuse log-probs with 403. */
export function isWorded(status: number | undefined): boolean {
  return status === 400 || status === 403 || status === 422
}

/** Returns a function that finds a field's position in a refusal, with its `param` first. The position is -1 if it is not named. */
function placesIn(error: unknown): (field: string) => number {
  if (!(error instanceof OpenAI.APIError) || !isWorded(error.status)) return () => -1
  const said = `${error.param ?? ''} ${error.message}`
  return (field) => said.search(new RegExp(`(?<!\\w)${literally(field)}(?!\\w)`))
}

/** Escapes a name of the config for a regular expression. */
function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
