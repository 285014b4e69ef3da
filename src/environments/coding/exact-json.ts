/** JSON whose numbers can keep their text: JavaScript rounds large ones, and takes 1.0 for 1. */

/** `source` is the text of a value that is neither array nor object; ours, as the library of types has it not yet. */
type Revive = (key: string, value: unknown, context: { readonly source?: string }) => unknown
const parse = JSON.parse as (json: string, revive: Revive) => unknown

/** What `revive` makes of each value, from within; `source` is the text of a number. Throws a SyntaxError where it is no JSON. */
export const reviveJson = (json: string, revive: (value: unknown, source: string) => unknown): unknown =>
  parse(json, (_key, value, { source = '' }) => revive(value, source))
