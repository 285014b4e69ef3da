/** The keyboard of a display: which code bears which symbol. Characters without a key borrow a free code. */
import { itemAt } from 'rlanything/kit'
import { keysymOf, keysymOfCharacter } from '../screen/keys.ts'
import type { X11Connection } from './x11.ts'

const SHIFT = 0xffe1
/** In which a program has looked up what was typed last, where there are more characters than codes. */
const LOOKED_UP_MS = 30

export type Keyboard = {
  /**
   * Lends codes to the symbols that have none. Resolves to true if a code was changed: a program that looks the keyboard up
   * late takes a stroke that comes at once for what the code bore before.
   */
  readonly lend: (keysyms: readonly number[]) => Promise<boolean>
  /** Returns the code of a key that is held, without Shift: who holds Ctrl and presses `+` says whether Shift is down. */
  readonly codeOf: (key: string) => Promise<number>
  /** Presses and releases the key of a name, with Shift if it needs it. */
  readonly press: (key: string) => Promise<void>
  /** Types one character. Nothing is typed if no keyboard has it. */
  readonly type: (character: string) => Promise<void>
}

/** Sends the press or the release of a code. */
export type SendKey = (how: 'press' | 'release', code: number) => void

/** @param send is in order with the requests of the connection */
export async function openKeyboard(
  { client: X, ask, sync }: X11Connection,
  send: SendKey,
): Promise<Keyboard> {
  const keyboard = await readKeyboard()

  async function readKeyboard() {
    const first = X.display.min_keycode
    const rows = await ask<readonly (readonly number[])[]>((done) =>
      X.GetKeyboardMapping(first, X.display.max_keycode - first + 1, done),
    )
    const places = new Map<number, { readonly code: number; readonly shifted: boolean }>()
    for (const [column, shifted] of [
      [0, false],
      [1, true],
    ] as const)
      for (const [i, row] of rows.entries())
        if (row[column] && !places.has(row[column])) places.set(row[column], { code: first + i, shifted })
    const free = rows.flatMap((row, i) => (row.every((symbol) => symbol === 0) ? [first + i] : []))
    if (free.length === 0) free.push(X.display.max_keycode)
    return { places, free, columns: rows[0]?.length ?? 2 }
  }

  /** Codes that bear characters without a key of their own, the one that was used longest ago first. */
  const lent = new Map<number, number>()

  /**
   * Resolves to true if a code was changed. Programs look a symbol up when the event reaches them, on a busy machine many
   * strokes later: so a code keeps its character until all other free ones are in use.
   */
  async function lend(keysym: number): Promise<boolean> {
    if (keyboard.places.has(keysym)) return false
    let code = lent.get(keysym) ?? keyboard.free.pop()
    if (code === undefined) {
      const [oldest, taken] = itemAt([...lent], 0)
      lent.delete(oldest)
      code = taken
      await new Promise((resolve) => setTimeout(resolve, LOOKED_UP_MS))
    }
    const isNew = !lent.delete(keysym)
    if (isNew) {
      X.ChangeKeyboardMapping(code, keyboard.columns, Array(keyboard.columns).fill(keysym))
      await sync()
    }
    lent.set(keysym, code)
    return isNew
  }

  async function place(keysym: number) {
    await lend(keysym)
    return keyboard.places.get(keysym) ?? { code: lent.get(keysym) as number, shifted: false }
  }

  async function stroke(keysym: number): Promise<void> {
    const { code, shifted } = await place(keysym)
    const shift = keyboard.places.get(SHIFT)?.code ?? 0
    if (shifted) send('press', shift)
    send('press', code)
    send('release', code)
    if (shifted) send('release', shift)
    await sync()
  }

  return {
    async lend(keysyms) {
      let changed = false
      for (const keysym of keysyms) changed = (await lend(keysym)) || changed
      return changed
    },
    codeOf: async (key) => (await place(keysymOf(key) as number)).code,
    press: (key) => stroke(keysymOf(key) as number),
    async type(character) {
      const keysym = keysymOfCharacter(character)
      if (keysym !== null) await stroke(keysym)
    },
  }
}
