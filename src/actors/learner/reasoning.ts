import { MOST_REASONING } from '../../events/catalogue/definition.ts'
import type { Generation } from '../../models/port.ts'

/**
 * Returns the end of reasoning that an endpoint returned apart from its answer. It is for events that do not hold the
 * answer's tokens. Returns nothing if the reasoning is empty.
 */
export function reasoningText({ reasoning }: Pick<Generation, 'reasoning'>): { readonly reasoning?: string } {
  const text = reasoning?.text.trim() ?? ''
  return text === '' ? {} : { reasoning: text.slice(-MOST_REASONING) }
}
