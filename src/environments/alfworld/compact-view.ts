/**
 * Short forms of ALFWorld's texts, for a small model that reads a whole episode as one packed sequence. They
 * leave out only what is known anyway: the place of arrival, and the words around a list. A text that no rule
 * knows stays as it is.
 */
import { itemAt } from '../../item-at.ts'

/** Goal and surroundings, e.g. `put a hot egg in garbagecan : cabinet 2 cabinet 1 fridge 1`. */
export function compactIntro(goal: string, observation: string): string {
  const seen = /you see ([^.]*)\./.exec(observation)?.[1]
  return `${goal.trim().replace(/\.$/, '')} : ${seen === undefined ? observation : listed(seen)}`
}

/** Short form of a command's answer, e.g. `closed`, `open mug 2`, `nothing`, `ok`. */
export function compactObservation(observation: string): string {
  const text = observation.replace(/^You (?:arrive at|open) [^.]*\. /, '')
  for (const [pattern, words] of OBSERVATIONS) {
    const match = pattern.exec(text)
    if (match) return typeof words === 'string' ? words : words(itemAt(match, 1))
  }
  return text
}

/**
 * Short form of a command: without `to`, `from` and `with`. A `take` also omits the place, since an object is
 * in one place only. Different commands keep different words.
 */
export function compactCommand(command: string): string {
  return command
    .replace(/^(take \S+ \S+) from .*$/, '$1')
    .replace(/^go to /, 'go ')
    .replace(/^(move \S+ \S+) to /, '$1 ')
    .replace(/^((?:clean|heat|cool|slice) \S+ \S+) with /, '$1 ')
}

const OBSERVATIONS: readonly (readonly [RegExp, string | ((list: string) => string)])[] = [
  [/^The \S+ \S+ is closed\.$/, 'closed'],
  [/^You close the [^.]*\.$/, 'closed'],
  [/^The \S+ \S+ is open\. In it, you see ([^.]*)\.$/, (list) => `open ${listed(list)}`],
  [/^On the [^.]*, you see ([^.]*)\.$/, listed],
  [/^You (?:pick up|move|put|clean|heat|cool|turn on|sliced) [^.]*\.$/, 'ok'],
  [/^Nothing happens\.?$/, 'fail'],
  [/^You are carrying: ([^.]*)\.$/, listed],
  [/^You are not carrying anything\.$/, 'nothing'],
  [/^You are facing [^.]*\. Next to it, you see ([^.]*)\.$/, listed],
  [/^You are in the middle of a room\. .*you see nothing\.$/, 'nothing'],
  [/^There's nothing special about [^.]*\.$/, 'plain'],
  [/^This is a normal [^.]*\. In it, you see ([^.]*)\.$/, listed],
  [/^This is a ([^.]*)\.$/, (what) => what],
  [/^\s*Available commands:/, 'help'],
]

/** Turns `a mug 2, a plate 1, and an egg 3` into `mug 2 plate 1 egg 3`. */
function listed(list: string): string {
  return list
    .split(/,? and |, /)
    .map((item) => item.replace(/^(?:an?|some|the) /, ''))
    .join(' ')
}
