/** Keys by the names that pyautogui has for them, as pages know them. */

export type PageKey = {
  readonly key: string
  readonly code: string
  /** Of Windows, as `KeyboardEvent.keyCode` gives it; 0 where there is none. */
  readonly keyCode: number
  /** What it writes. */
  readonly text: string
  /** Its bit while it is held: alt 1, ctrl 2, meta 4, shift 8. */
  readonly modifier: number
}

const plain = (key: string, keyCode: number, text = '', code = key): PageKey => ({
  ...{ key, code, keyCode, text },
  modifier: 0,
})
const modifying = (key: string, keyCode: number, modifier: number, code = `${key}Left`): PageKey => ({
  ...{ key, code, keyCode, modifier },
  text: '',
})

const ENTER = plain('Enter', 13, '\r')
const TAB = plain('Tab', 9)
const ESCAPE = plain('Escape', 27)
const SPACE = plain(' ', 32, ' ', 'Space')
const DELETE = plain('Delete', 46)
const PAGE_UP = plain('PageUp', 33)
const PAGE_DOWN = plain('PageDown', 34)
const CTRL = modifying('Control', 17, 2)
const ALT = modifying('Alt', 18, 1)
const SHIFT = modifying('Shift', 16, 8)
const META = modifying('Meta', 91, 4)

const NAMED: Readonly<Record<string, PageKey>> = {
  ...{ '\n': ENTER, '\r': ENTER, enter: ENTER, return: ENTER, '\t': TAB, tab: TAB },
  ...{ esc: ESCAPE, escape: ESCAPE, space: SPACE, ' ': SPACE, backspace: plain('Backspace', 8) },
  ...{
    delete: DELETE,
    del: DELETE,
    insert: plain('Insert', 45),
    home: plain('Home', 36),
    end: plain('End', 35),
  },
  ...{ left: plain('ArrowLeft', 37), up: plain('ArrowUp', 38), right: plain('ArrowRight', 39) },
  ...{ down: plain('ArrowDown', 40), pageup: PAGE_UP, pgup: PAGE_UP, pagedown: PAGE_DOWN, pgdn: PAGE_DOWN },
  ...{ ctrl: CTRL, control: CTRL, ctrlleft: CTRL, ctrlright: modifying('Control', 17, 2, 'ControlRight') },
  ...{ alt: ALT, altleft: ALT, option: ALT, altright: modifying('Alt', 18, 1, 'AltRight') },
  ...{ shift: SHIFT, shiftleft: SHIFT, shiftright: modifying('Shift', 16, 8, 'ShiftRight') },
  ...{ win: META, winleft: META, super: META, command: META, cmd: META, winright: META },
  ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`f${i + 1}`, plain(`F${i + 1}`, 112 + i)])),
}

/** Of a keyboard of the United States. The code of a full stop must not be its character's: that is Delete. */
const MARKS: Readonly<Record<string, readonly [number, string]>> = {
  ...{ ';': [186, 'Semicolon'], '=': [187, 'Equal'], ',': [188, 'Comma'], '-': [189, 'Minus'] },
  ...{ '.': [190, 'Period'], '/': [191, 'Slash'], '`': [192, 'Backquote'], '[': [219, 'BracketLeft'] },
  ...{ '\\': [220, 'Backslash'], ']': [221, 'BracketRight'], "'": [222, 'Quote'] },
}

/** A single character is its own name; of other names without an entry the page hears the name alone. */
export function pageKeyOf(name: string): PageKey {
  if (Object.hasOwn(NAMED, name)) return NAMED[name]
  if ([...name].length > 1) return plain(name, 0)
  if (/^[a-z]$/i.test(name))
    return plain(name, name.toUpperCase().charCodeAt(0), name, `Key${name.toUpperCase()}`)
  if (/^[0-9]$/.test(name)) return plain(name, name.charCodeAt(0), name, `Digit${name}`)
  const [keyCode, code] = MARKS[name] ?? [0, '']
  return plain(name, keyCode, name, code)
}
