import { MOST_REASONING } from '../../events/catalogue/definition.ts'
import type { Generation } from '../../models/port.ts'

/** What an endpoint told apart from its answer, for events that do not hold the answer's tokens; its end is kept, where it comes to something. */
export function reasoningText({ reasoning }: Pick<Generation, 'reasoning'>): { readonly reasoning?: string } {
  const text = reasoning?.text.trim() ?? ''
  return text === '' ? {} : { reasoning: text.slice(-MOST_REASONING) }
}
