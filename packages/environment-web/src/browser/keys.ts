/** Keys by pyautogui's names, as pages know them: the keys of a keyboard of the United States. */

import { isKey, keyName, withShift } from '@rlanything/environment-desktop/screen'
import { itemAt, ownValue } from 'rlanything/kit'

export type PageKey = {
  readonly key: string
  readonly code: string
  /** Windows code, as `KeyboardEvent.keyCode` gives it. It is 0 for a character without a key. */
  readonly keyCode: number
  /** Text that the key writes. */
  readonly text: string
  /** Its bit while it is held: alt 1, ctrl 2, meta 4, shift 8. */
  readonly modifier: number
  /** As `KeyboardEvent.location`: 1 left, 2 right, 3 number pad. */
  readonly location: number
  /** Whether shift has to be held for this character. */
  readonly shifted: boolean
}

type Place = { readonly code?: string; readonly text?: string; readonly location?: number }

const plain = (
  key: string,
  keyCode: number,
  { code = key, text = '', location = 0 }: Place = {},
): PageKey => ({
  key,
  code,
  keyCode,
  text,
  location,
  modifier: 0,
  shifted: false,
})
/** Its left and its right key. */
function modifying(
  key: string,
  [left, right]: readonly [number, number],
  modifier: number,
): readonly [PageKey, PageKey] {
  const on = (side: string, keyCode: number, location: number) => ({
    ...plain(key, keyCode, { code: `${key}${side}`, location }),
    modifier,
  })
  return [on('Left', left, 1), on('Right', right, 2)]
}

const [CTRL, RIGHT_CTRL] = modifying('Control', [17, 17], 2)
const [ALT, RIGHT_ALT] = modifying('Alt', [18, 18], 1)
const [SHIFT, RIGHT_SHIFT] = modifying('Shift', [16, 16], 8)
const [META, RIGHT_META] = modifying('Meta', [91, 92], 4)
const ENTER = plain('Enter', 13, { text: '\r' })
const TAB = plain('Tab', 9)
const ESCAPE = plain('Escape', 27)
const SPACE = plain(' ', 32, { code: 'Space', text: ' ' })
const DELETE = plain('Delete', 46)
const PAGE_UP = plain('PageUp', 33)
const PAGE_DOWN = plain('PageDown', 34)
const PRINT = plain('PrintScreen', 44)
/** A key of the number pad. */
const pad = (text: string, keyCode: number, name: string) =>
  plain(text, keyCode, { text, code: `Numpad${name}`, location: 3 })
const counted = (count: number, make: (i: number) => readonly [string, PageKey]) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => make(i)))

const NAMED: Readonly<Record<string, PageKey>> = {
  '\n': ENTER,
  '\r': ENTER,
  enter: ENTER,
  return: ENTER,
  '\t': TAB,
  tab: TAB,
  esc: ESCAPE,
  escape: ESCAPE,
  space: SPACE,
  ' ': SPACE,
  backspace: plain('Backspace', 8),
  delete: DELETE,
  del: DELETE,
  insert: plain('Insert', 45),
  home: plain('Home', 36),
  end: plain('End', 35),
  left: plain('ArrowLeft', 37),
  up: plain('ArrowUp', 38),
  right: plain('ArrowRight', 39),
  down: plain('ArrowDown', 40),
  pageup: PAGE_UP,
  pgup: PAGE_UP,
  pagedown: PAGE_DOWN,
  pgdn: PAGE_DOWN,
  ctrl: CTRL,
  ctrlleft: CTRL,
  ctrlright: RIGHT_CTRL,
  alt: ALT,
  altleft: ALT,
  altright: RIGHT_ALT,
  shift: SHIFT,
  shiftleft: SHIFT,
  shiftright: RIGHT_SHIFT,
  win: META,
  winleft: META,
  winright: RIGHT_META,
  capslock: plain('CapsLock', 20),
  numlock: plain('NumLock', 144),
  scrolllock: plain('ScrollLock', 145),
  printscreen: PRINT,
  prntscrn: PRINT,
  prtsc: PRINT,
  prtscr: PRINT,
  print: plain('Print', 42, { code: '' }),
  pause: plain('Pause', 19),
  apps: plain('ContextMenu', 93),
  clear: plain('Clear', 12, { code: 'NumLock' }),
  help: plain('Help', 47),
  select: plain('Select', 41),
  execute: plain('Execute', 43, { code: 'Open' }),
  multiply: pad('*', 106, 'Multiply'),
  add: pad('+', 107, 'Add'),
  separator: pad(',', 108, 'Comma'),
  subtract: pad('-', 109, 'Subtract'),
  decimal: pad('.', 110, 'Decimal'),
  divide: pad('/', 111, 'Divide'),
  ...counted(10, (i) => [`num${i}`, pad(String(i), 96 + i, String(i))]),
  ...counted(24, (i) => [`f${i + 1}`, plain(`F${i + 1}`, 112 + i)]),
}

/** The key of a character without shift, by its name and number. */
const MARKS: Readonly<Record<string, readonly [number, string]>> = {
  ';': [186, 'Semicolon'],
  '=': [187, 'Equal'],
  ',': [188, 'Comma'],
  '-': [189, 'Minus'],
  '.': [190, 'Period'],
  '/': [191, 'Slash'],
  '`': [192, 'Backquote'],
  '[': [219, 'BracketLeft'],
  '\\': [220, 'Backslash'],
  ']': [221, 'BracketRight'],
  "'": [222, 'Quote'],
  ...Object.fromEntries([...'0123456789'].map((digit) => [digit, [digit.charCodeAt(0), `Digit${digit}`]])),
  ...Object.fromEntries(
    [...'abcdefghijklmnopqrstuvwxyz'].map((letter) => [
      letter,
      [letter.toUpperCase().charCodeAt(0), `Key${letter.toUpperCase()}`],
    ]),
  ),
}
const WITH_SHIFT: ReadonlyMap<string, string> = new Map(
  Object.keys(MARKS).map((mark) => [withShift(mark), mark]),
)

/** A single character is its own name. Null: there is no such key. */
export function pageKeyOf(name: string): PageKey | null {
  const named = ownValue(NAMED, name)
  if (named !== undefined) return named
  if ([...name].length !== 1) return null
  const mark = WITH_SHIFT.get(name)
  const [keyCode, code] = MARKS[mark ?? name] ?? [0, '']
  return { ...plain(name, keyCode, { code, text: name }), shifted: mark !== undefined }
}

const MODIFIERS = /^(ctrl|control|shift|alt|meta)\+(?=.)/isu

/**
 * Returns the keys of `ctrl+shift+z`, `Enter` or `+`, the held ones first. Returns null if there is no such
 * key.
 */
export function chordOf(text: string): readonly string[] | null {
  const held: string[] = []
  let rest = text
  for (let found = MODIFIERS.exec(rest); found; found = MODIFIERS.exec(rest)) {
    held.push(keyName(itemAt(found, 1)))
    rest = rest.slice(found[0].length)
  }
  // In `ctrl+C` people mean the key C.
  const isShortcut = held.length > 0 && !held.includes('shift')
  const key = keyName(isShortcut && /^[A-Z]$/.test(rest) ? rest.toLowerCase() : rest)
  return isKey(key) || pageKeyOf(key) ? [...held, key] : null
}
