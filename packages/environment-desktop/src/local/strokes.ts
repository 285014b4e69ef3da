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

/**
 * Least time from the end of an action to keys that are another action. A program may take up what was done
 * later, and stand still until then: PCManFM takes no F2 for 200 ms after it selected a file.
 */
export const ACTION_DISTANCE_MS = 250

/** Characters behind this one have no key of their own, and borrow one that is free. */
const LAST_WITH_A_KEY = '~'
/** Most such characters of a portion. Xvfb has 17 free keys. */
const MOST_BORROWED = 8

/** Returns the key of a character or of a name: the keysym that it has without shift, else the name. */
function keyOf(name: string): number | string {
  const key = withoutShift(keyName(name))
  return keysymOf(key) ?? key
}

const [ENTER, TAB] = [keyOf('enter'), keyOf('tab')]

/** Returns the portions of an action. Text and other keys are in different portions: programs mix them up. */
export function strokes(action: ScreenAction): readonly ScreenAction[] {
  if (action.type === 'press') return action.keys.map((key) => ({ type: 'press', keys: [key] }))
  if (action.type !== 'type') return [action]
  const portions: string[] = []
  let used = new Set<number | string>()
  let borrowed = 0
  for (const character of action.text) {
    const key = keyOf(character)
    const isAlone = key === ENTER || key === TAB || used.has(ENTER) || used.has(TAB)
    if (character > LAST_WITH_A_KEY) borrowed++
    if (portions.length === 0 || used.has(key) || isAlone || borrowed > MOST_BORROWED) {
      portions.push('')
      used = new Set()
      borrowed = character > LAST_WITH_A_KEY ? 1 : 0
    }
    portions[portions.length - 1] += character
    used.add(key)
  }
  return portions.map((text) => ({ type: 'type', text }))
}

/** Returns the names of the keys that an action strikes. A character is its own name. */
export function keysIn(action: ScreenAction): readonly string[] {
  switch (action.type) {
    case 'type':
      return [...action.text]
    case 'press':
    case 'hotkey':
      return action.keys
    case 'key-down':
      return [action.key]
    default:
      return []
  }
}

/** Remembers what was done last, and when each key was struck, over all actions of a desktop. */
export function keyDistances(now: () => number = () => performance.now()) {
  const struckAt = new Map<number | string, number>()
  let last: { readonly type: ScreenAction['type']; readonly endedAt: number } | null = null
  return {
    /** Milliseconds until the action may begin. Text follows text, and the pointer follows anything, at once. */
    untilActionMs(action: ScreenAction): number {
      if (last === null || keysIn(action).length === 0) return 0
      if (action.type === 'type' && last.type === 'type') return 0
      return Math.max(0, last.endedAt + ACTION_DISTANCE_MS - now())
    },
    noteAction({ type }: ScreenAction): void {
      last = { type, endedAt: now() }
    },
    /** Milliseconds until the portion may come. */
    untilPortionMs(portion: ScreenAction): number {
      const ready = keysIn(portion).map((key) => (struckAt.get(keyOf(key)) ?? -Infinity) + KEY_DISTANCE_MS)
      return Math.max(0, ...ready.map((at) => at - now()))
    },
    notePortion(portion: ScreenAction): void {
      for (const key of keysIn(portion)) struckAt.set(keyOf(key), now())
    },
  }
}
