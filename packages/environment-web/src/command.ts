/**
 * Commands of an agent: `click 5`, `type 7 some text`. The name after the ref in a listed command may be left
 * out.
 */

import { chordOf } from './browser/keys.ts'

/**
 * Verb, ref (0 for `wait` and `click-at`), and the argument: a text, an option, a key, a direction or a
 * place.
 */
export type Command = readonly [verb: string, ref: number, argument?: string]

/** Verbs with the form of their argument. */
export const VERBS = {
  click: null,
  hover: null,
  highlight: null,
  type: 'the text',
  select: 'an option',
  press: 'a key',
  scroll: 'up or down',
  drag: 'left, right, up, down or another ref',
} as const

const MOST_CHARACTERS = 2_000
/** A character or a key's name, after the keys that are held with it. */
const KEY = /^(?:(?:ctrl|control|shift|alt|meta)\+)*(?:\S|\w+| )$/iu

/** Returns the command, or the reason why the text is none. */
export function parseCommand(text: string): Command | { readonly problem: string } {
  const told = text.length > 80 ? `${text.slice(0, 80)}...` : text
  if (text.length > MOST_CHARACTERS)
    return { problem: `an action has at most ${MOST_CHARACTERS} characters: '${told}'` }
  if (text.trim() === 'wait') return ['wait', 0]
  const [, x, y] = /^\s*click-at\s+(\d{1,4})\s+(\d{1,4})\s*$/.exec(text) ?? []
  if (x !== undefined) return ['click-at', 0, `${x} ${y}`]
  const [, verb = '', rest = ''] = /^\s*(\S+)\s*([\s\S]*)$/.exec(text) ?? []
  if (!Object.hasOwn(VERBS, verb))
    return { problem: `'${told}' begins with none of ${Object.keys(VERBS).join(', ')}, click-at x y, wait` }
  const parsed = /^(\d{1,6})(?: "[^"]*")?(?: ([\s\S]*))?$/.exec(rest)
  if (!parsed) return { problem: `'${told}' has no ref behind '${verb}'` }
  const [, ref, argument] = parsed
  const wanted = VERBS[verb as keyof typeof VERBS]
  if (wanted === null)
    return argument === undefined
      ? [verb, Number(ref)]
      : { problem: `'${told}': '${verb}' takes a ref alone` }
  if (argument === undefined && verb !== 'type')
    return { problem: `'${told}' lacks ${wanted} behind the ref` }
  if (verb === 'scroll' && argument !== 'up' && argument !== 'down')
    return { problem: `'${told}': scroll goes up or down` }
  if (verb === 'press' && !KEY.test(argument ?? '')) return { problem: `'${told}': press takes one key` }
  if (verb === 'press' && !chordOf(argument ?? '')) return { problem: `'${told}': there is no such key` }
  return [verb, Number(ref), argument ?? '']
}
