/** Keys by the names that pyautogui has for them, as X keysyms. */
import { ownValue } from 'rlanything/kit'

const NAMED: Readonly<Record<string, number>> = {
  '\t': 0xff09,
  '\n': 0xff0d,
  '\r': 0xff0d,
  tab: 0xff09,
  enter: 0xff0d,
  return: 0xff0d,
  esc: 0xff1b,
  escape: 0xff1b,
  space: 0x20,
  backspace: 0xff08,
  delete: 0xffff,
  del: 0xffff,
  insert: 0xff63,
  home: 0xff50,
  end: 0xff57,
  left: 0xff51,
  up: 0xff52,
  right: 0xff53,
  down: 0xff54,
  pageup: 0xff55,
  pgup: 0xff55,
  pagedown: 0xff56,
  pgdn: 0xff56,
  shift: 0xffe1,
  shiftleft: 0xffe1,
  shiftright: 0xffe2,
  ctrl: 0xffe3,
  ctrlleft: 0xffe3,
  ctrlright: 0xffe4,
  alt: 0xffe9,
  altleft: 0xffe9,
  altright: 0xffea,
  win: 0xffeb,
  winleft: 0xffeb,
  winright: 0xffec,
  capslock: 0xffe5,
  numlock: 0xff7f,
  scrolllock: 0xff14,
  printscreen: 0xff61,
  prntscrn: 0xff61,
  prtsc: 0xff61,
  prtscr: 0xff61,
  print: 0xff61,
  pause: 0xff13,
  apps: 0xff67,
  clear: 0xff0b,
  help: 0xff6a,
  select: 0xff60,
  execute: 0xff62,
  multiply: 0xffaa,
  add: 0xffab,
  separator: 0xffac,
  subtract: 0xffad,
  decimal: 0xffae,
  divide: 0xffaf,
}

/** Names of keys that models use and that pyautogui ignores on X11. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  arrowup: 'up',
  arrowdown: 'down',
  arrowleft: 'left',
  arrowright: 'right',
  control: 'ctrl',
  option: 'alt',
  super: 'win',
  meta: 'win',
  command: 'win',
  cmd: 'win',
  menu: 'apps',
}

const FUNCTION_KEYS: Readonly<Record<string, number>> = Object.fromEntries([
  ...Array.from({ length: 24 }, (_, i) => [`f${i + 1}`, 0xffbe + i]),
  ...Array.from({ length: 10 }, (_, i) => [`num${i}`, 0xffb0 + i]),
])

/**
 * Keys of a keyboard of the United States that are not letters, and the characters that they write with
 * shift.
 */
const PLAIN = "`1234567890-=[]\\;',./"
const SHIFTED = '~!@#$%^&*()_+{}|:"<>?'

/**
 * Returns the character that a key writes with shift.
 *
 * @example withShift('1') // '!'
 */
export function withShift(key: string): string {
  if (/^[a-z]$/.test(key)) return key.toUpperCase()
  const at = key.length === 1 ? PLAIN.indexOf(key) : -1
  return at < 0 ? key : SHIFTED.charAt(at)
}

/** Returns the character that the key of a character writes without shift. */
export function withoutShift(character: string): string {
  if (/^[A-Z]$/.test(character)) return character.toLowerCase()
  const at = character.length === 1 ? SHIFTED.indexOf(character) : -1
  return at < 0 ? character : PLAIN.charAt(at)
}

/**
 * Returns pyautogui's name of a key, in lower case. A single character stays as it is.
 *
 * @example keyName('Return') // 'return'
 */
export function keyName(written: string): string {
  const name = written.length === 1 ? written : written.toLowerCase()
  return ownValue(OTHER_NAMES, name) ?? name
}

/**
 * Whether pyautogui has a key of this name.
 *
 * @example isKey('enter') // true
 */
export function isKey(name: string): boolean {
  return keysymOf(name) !== null
}

/** Returns a key's keysym, or null if no key has the name. A single character is its own name. */
export function keysymOf(name: string): number | null {
  const known = ownValue(NAMED, name) ?? ownValue(FUNCTION_KEYS, name)
  if (known !== undefined) return known
  const [character, ...more] = name
  return character === undefined || more.length > 0 ? null : keysymOfCharacter(character)
}

/**
 * Returns the keysym of a character. Latin-1 characters are their own keysyms, other characters have those of
 * Unicode. Returns null for control characters.
 */
export function keysymOfCharacter(character: string): number | null {
  const code = character.codePointAt(0) as number
  const known = ownValue(NAMED, character)
  if (known !== undefined) return known
  if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code < 0xe000)) return null
  return code < 0x100 ? code : 0x01000000 | code
}
