/**
 * Actions of an agent that sees a screen. Every grammar is parsed into this form. Pixels count from the upper
 * left corner.
 */
import { RlError } from 'rlanything/kit'
import { isKey, keyName } from './keys.ts'

export type ScreenSize = { readonly width: number; readonly height: number }
export type Point = { readonly x: number; readonly y: number }
export type Button = 'left' | 'middle' | 'right'
export const BUTTONS: readonly Button[] = ['left', 'middle', 'right']

/** If a point is null, it is the pointer's position. */
export type ScreenAction =
  | { readonly type: 'move'; readonly to: Point }
  | { readonly type: 'click'; readonly at: Point | null; readonly button: Button; readonly count: number }
  | { readonly type: 'button-down'; readonly at: Point | null; readonly button: Button }
  | { readonly type: 'button-up'; readonly at: Point | null; readonly button: Button }
  /** Drags with the button held, from the pointer's position. */
  | { readonly type: 'drag'; readonly to: Point; readonly button: Button }
  /** Notches of the wheel. dy above 0 is up, dx above 0 is right. */
  | { readonly type: 'scroll'; readonly at: Point | null; readonly dx: number; readonly dy: number }
  | { readonly type: 'type'; readonly text: string }
  /** Keys pressed in order. */
  | { readonly type: 'press'; readonly keys: readonly string[] }
  /** Keys held down in order, and released in the opposite order. */
  | { readonly type: 'hotkey'; readonly keys: readonly string[] }
  | { readonly type: 'key-down'; readonly key: string }
  | { readonly type: 'key-up'; readonly key: string }
  | { readonly type: 'wait'; readonly seconds: number }
  /** Ends the episode: the task is done, or it cannot be done. */
  | { readonly type: 'end'; readonly status: 'done' | 'fail' }

/** No action is larger than this. */
export const LIMITS = {
  /** Most characters of one text, also of a text of a model or a client. */
  text: 10_000,
  source: 64 * 1024,
  /** Most actions of one answer. */
  actions: 200,
  /**
   * Most letters, keys and clicks of one answer, and most seconds that it waits in all. Somebody waits for
   * each of them.
   */
  strokes: 10_000,
  clicks: 10,
  keys: 64,
  notches: 1000,
  waitSeconds: 60,
} as const

/**
 * Makes the error for an action that cannot be read. Its message is for the author of the action.
 *
 * @example throw actionError(`there is no key ${name}`, 'keys have the names of pyautogui')
 */
export function actionError(message: string, hint?: string): RlError {
  return new RlError(message, { code: 'screen.action', hint })
}

/**
 * Returns the point, which must be within the screen.
 * @throws RlError `screen.action`
 */
export function pointOf(x: unknown, y: unknown): Point {
  const point = { x: numberIn('x', x, -100_000, 100_000), y: numberIn('y', y, -100_000, 100_000) }
  return { x: Math.trunc(point.x), y: Math.trunc(point.y) }
}

export function numberIn(name: string, value: unknown, least: number, most: number): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < least || value > most)
    throw actionError(`${name} is ${shown(value)}, expected a number from ${least} to ${most}`)
  return value
}

export function wholeIn(name: string, value: unknown, least: number, most: number): number {
  const number = numberIn(name, value, least, most)
  if (!Number.isInteger(number)) throw actionError(`${name} is ${number}, expected a whole number`)
  return number
}

export function buttonOf(value: unknown): Button {
  const button = BUTTONS.find((one) => one === value || (value === 'primary' && one === 'left'))
  if (button === undefined) throw actionError(`button is ${shown(value)}, expected ${BUTTONS.join(', ')}`)
  return button
}

export function textOf(name: string, value: unknown): string {
  if (typeof value !== 'string') throw actionError(`${name} is ${shown(value)}, expected a text`)
  if (/\p{Cs}/u.test(value)) throw actionError(`${name} is ${shown(value)}, which holds half of a character`)
  if (value.length > LIMITS.text)
    throw actionError(`${name} has ${value.length} characters, more than ${LIMITS.text}`)
  return value
}

/**
 * Returns the same actions.
 *
 * @throws RlError `screen.action` if they take too long: an answer must not keep a page or a desktop for
 * hours
 * @example withinReach([{ type: 'wait', seconds: 5 }])
 */
export function withinReach(
  actions: readonly ScreenAction[],
  mostStrokes: number = LIMITS.strokes,
): readonly ScreenAction[] {
  const sum = (of: (action: ScreenAction) => number) => actions.reduce((all, one) => all + of(one), 0)
  const [strokes, seconds] = [sum(strokesOf), sum((one) => (one.type === 'wait' ? one.seconds : 0))]
  if (strokes > mostStrokes)
    throw actionError(`${strokes} letters, keys and clicks, more than ${mostStrokes}`)
  if (seconds > LIMITS.waitSeconds)
    throw actionError(`${seconds} seconds of waiting, more than ${LIMITS.waitSeconds}`)
  return actions
}

function strokesOf(action: ScreenAction): number {
  if (action.type === 'type') return action.text.length
  if (action.type === 'press' || action.type === 'hotkey') return action.keys.length
  return action.type === 'click' ? action.count : 1
}

/**
 * Returns a key by pyautogui's names, in lower case.
 * @throws RlError `screen.action` that names it
 */
export function keyOf(value: unknown): string {
  if (typeof value !== 'string') throw actionError(`a key is ${shown(value)}, expected its name`)
  const key = keyName(value)
  if (!isKey(key)) throw actionError(`there is no key ${shown(value)}`, 'keys have the names of pyautogui')
  return key
}

export function keysOf(values: readonly unknown[]): readonly string[] {
  if (values.length === 0 || values.length > LIMITS.keys)
    throw actionError(`${values.length} keys, expected 1 to ${LIMITS.keys}`)
  return values.map(keyOf)
}

/** Returns a value for a message: short, on one line. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}
