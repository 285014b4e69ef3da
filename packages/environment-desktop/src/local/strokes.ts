/**
 * Splits the keys of an action into portions that a program understands. A program may take two strokes of
 * one key for one, if the second comes while the button still looks pressed. So a portion holds no key twice,
 * and strokes of one key keep a distance.
 */
import type { ScreenAction } from '../screen/action.ts'
import { keyName, keysymOf, withoutShift } from '../screen/keys.ts'

/**
 * Least time between two strokes of one key. A GTK button ignores strokes for about 100 ms after a key has
 * pressed it.
 */
export const KEY_DISTANCE_MS = 150

/** Returns the key of a character or of a name: the keysym that it has without shift, else the name. */
function keyOf(name: string): number | string {
  const key = withoutShift(keyName(name))
  return keysymOf(key) ?? key
}

const [ENTER, TAB] = ['enter', 'tab'].map(keyOf)

/** Returns the portions of an action. Text and other keys are in different portions: programs mix them up. */
export function strokes(action: ScreenAction): readonly ScreenAction[] {
  if (action.type === 'press') return action.keys.map((key) => ({ type: 'press', keys: [key] }))
  if (action.type !== 'type') return [action]
  const portions: string[] = []
  let used = new Set<number | string>()
  for (const character of action.text) {
    const key = keyOf(character)
    const isOwn = character === '\n' || character === '\t'
    if (portions.length === 0 || used.has(key) || isOwn || used.has(ENTER) || used.has(TAB)) {
      portions.push('')
      used = new Set()
    }
    portions[portions.length - 1] += character
    used.add(key)
  }
  return portions.map((text) => ({ type: 'type', text }))
}

/** Keys that a portion strikes. */
function keysIn(action: ScreenAction): readonly (number | string)[] {
  switch (action.type) {
    case 'type':
      return Array.from(action.text, keyOf)
    case 'press':
    case 'hotkey':
      return action.keys.map(keyOf)
    case 'key-down':
      return [keyOf(action.key)]
    default:
      return []
  }
}

/** Remembers when each key was struck last, over all actions of a desktop. */
export function keyDistances(now: () => number = () => performance.now()) {
  const struckAt = new Map<number | string, number>()
  return {
    /** Milliseconds until the portion may come. */
    waitMs(portion: ScreenAction): number {
      const ready = keysIn(portion).map((key) => (struckAt.get(key) ?? -Infinity) + KEY_DISTANCE_MS)
      return Math.max(0, ...ready.map((at) => at - now()))
    },
    note(portion: ScreenAction): void {
      for (const key of keysIn(portion)) struckAt.set(key, now())
    },
  }
}
