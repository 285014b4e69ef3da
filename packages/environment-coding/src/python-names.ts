/**
 * Names in Python sources. A name from a record is compared, never built into a pattern. A pattern of a long
 * name is an error of the engine, and special characters would change its meaning.
 */
import { itemAt } from 'rlanything/kit'

export type Named = {
  readonly name: string
  /** Position at which the name begins. */
  readonly index: number
}

/**
 * Returns names before an opening bracket: the functions that the text calls. Example: `f(g (1))` calls f and
 * g.
 */
export function namesCalled(text: string): readonly Named[] {
  return [...text.matchAll(/\b(\w+)\s*\(/g)].map((call) => ({
    name: itemAt(call, 1),
    index: call.index,
  }))
}

/** Whether a function of this name is defined at the top level of the source. */
export function defines(source: string, name: string): boolean {
  return [...source.matchAll(/^def\s+(\w+)/gm)].some(([, defined]) => defined === name)
}
