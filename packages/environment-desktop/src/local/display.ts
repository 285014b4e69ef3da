/** An X display through the package x11: input by the extension XTEST, and windows by the hints of window managers. */

import { connect } from 'node:net'
import { RlError } from 'rlanything/kit'
import type { WindowQuery } from '../computer.ts'
import type { Button, Point, ScreenAction, ScreenSize } from '../screen/action.ts'
import { keysymOf, keysymOfCharacter } from '../screen/keys.ts'
import { faultError } from './sandbox.ts'

const DEADLINE_MS = 10_000
const BUTTON_NUMBERS: Readonly<Record<Button, number>> = { left: 1, middle: 2, right: 3 }
const WHEEL = { up: 4, down: 5, left: 6, right: 7 } as const
const SHIFT = 0xffe1
const [KEY_PRESS, KEY_RELEASE, BUTTON_PRESS, BUTTON_RELEASE, MOTION] = [2, 3, 4, 5, 6]
/** Substructure redirect and notify: messages to the window manager go by these. */
const TO_WINDOW_MANAGER = 0x180000
const MOST_WINDOWS = 1000
/**
 * Time in which a program has looked up the last typed character, if there are more characters than codes.
 */
const LOOKED_UP_MS = 30

export type Window = { readonly id: number; readonly title: string; readonly class: string }

export type Display = {
  /** Resolves when the server has taken the input. Programs may still be busy with it. */
  readonly input: (action: ScreenAction) => Promise<void>
  readonly pointer: () => Promise<Point>
  /** Whether a window manager is there. */
  readonly managed: () => Promise<boolean>
  /** Windows of programs, in the order in which they came. */
  readonly windows: () => Promise<readonly Window[]>
  /** Resolves to false if no window matches. */
  readonly activate: (query: WindowQuery) => Promise<boolean>
  readonly shut: (query: WindowQuery) => Promise<boolean>
  readonly geometry: (window: number) => Promise<ScreenSize>
  readonly close: () => void
}

/** @param socket of the display, e.g. below /proc/<pid>/root */
export async function openDisplay(socket: string, { width, height }: ScreenSize): Promise<Display> {
  const { createClient } = await library()
  const stream = connect(socket)
  const { client: X, screen } = await new Promise<X11Display>((resolve, reject) => {
    createClient({ stream, display: ':0' }, (error, display) => (error ? reject(error) : resolve(display)))
  })
  // All connections of the package share one table of atoms, though each display numbers them itself.
  X.atoms = { ...X.atoms }
  let broken: string | null = null
  X.on('error', (error) => {
    // Errors of windows that are gone by now come here as well. Only the end of the connection is an error of
    // the desktop.
    if (!('error' in error)) broken ??= error.message
  })
  X.on('end', () => {
    broken ??= 'the display has ended'
  })
  const root = screen[0].root

  /** Sends one request with an answer. Every request has a deadline. */
  function ask<Answer>(
    request: (done: (error: Error | null, answer: Answer) => void) => void,
  ): Promise<Answer> {
    if (broken !== null) return Promise.reject(faultError(broken))
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(faultError('the display does not answer')), DEADLINE_MS)
      const end = (why: string) => reject(faultError(why))
      const onClose = () => end('the display has ended')
      stream.once('close', onClose)
      request((error, answer) => {
        clearTimeout(timer)
        stream.off('close', onClose)
        if (error) reject(error)
        else resolve(answer)
      })
    })
  }

  const xtest = await ask<XTest>((done) => X.require('xtest', done))
  const fake = (type: number, detail: number, x = 0, y = 0) => xtest.FakeInput(type, detail, 0, root, x, y)
  const sync = () => ask((done) => X.GetInputFocus(done))
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

  /** Codes that carry characters without a key of their own, the least recently used first. */
  const lent = new Map<number, number>()

  /**
   * Lends a code to a character. Programs look a symbol up when the event reaches them, on a busy machine
   * many strokes later. So a code keeps its character until all other free codes are in use.
   */
  async function lend(keysym: number): Promise<number> {
    let code = lent.get(keysym) ?? keyboard.free.pop()
    if (code === undefined) {
      const [[oldest, taken]] = lent
      lent.delete(oldest)
      code = taken
      await new Promise((resolve) => setTimeout(resolve, LOOKED_UP_MS))
    }
    if (!lent.delete(keysym)) {
      X.ChangeKeyboardMapping(code, keyboard.columns, Array(keyboard.columns).fill(keysym))
      await sync()
    }
    lent.set(keysym, code)
    return code
  }

  const place = async (keysym: number) =>
    keyboard.places.get(keysym) ?? { code: await lend(keysym), shifted: false }

  async function stroke(keysym: number): Promise<void> {
    const { code, shifted } = await place(keysym)
    const shift = keyboard.places.get(SHIFT)?.code ?? 0
    if (shifted) fake(KEY_PRESS, shift)
    fake(KEY_PRESS, code)
    fake(KEY_RELEASE, code)
    if (shifted) fake(KEY_RELEASE, shift)
    await sync()
  }

  /**
   * Returns the code of a key to hold, without shift. If Shift must be down too, the agent holds it itself.
   */
  async function codeOf(key: string): Promise<number> {
    return (await place(keysymOf(key) as number)).code
  }

  const clamp = ({ x, y }: Point): readonly [number, number] => [
    Math.min(Math.max(x, 0), width - 1),
    Math.min(Math.max(y, 0), height - 1),
  ]
  const move = (to: Point) => fake(MOTION, 0, ...clamp(to))
  const wheel = (button: number, notches: number) => {
    for (let i = 0; i < Math.abs(notches); i++) {
      fake(BUTTON_PRESS, button)
      fake(BUTTON_RELEASE, button)
    }
  }

  async function pointer(): Promise<Point> {
    const { rootX, rootY } = await ask<{ readonly rootX: number; readonly rootY: number }>((done) =>
      X.QueryPointer(root, done),
    )
    return { x: rootX, y: rootY }
  }

  async function input(action: ScreenAction): Promise<void> {
    if ('at' in action && action.at) move(action.at)
    switch (action.type) {
      case 'move':
        move(action.to)
        break
      case 'click':
        for (let i = 0; i < action.count; i++) {
          fake(BUTTON_PRESS, BUTTON_NUMBERS[action.button])
          fake(BUTTON_RELEASE, BUTTON_NUMBERS[action.button])
        }
        break
      case 'button-down':
        fake(BUTTON_PRESS, BUTTON_NUMBERS[action.button])
        break
      case 'button-up':
        fake(BUTTON_RELEASE, BUTTON_NUMBERS[action.button])
        break
      case 'drag': {
        const from = await pointer()
        fake(BUTTON_PRESS, BUTTON_NUMBERS[action.button])
        // Programs begin a drag when the pointer has moved with the button down.
        for (let i = 1; i <= DRAG_STEPS; i++) {
          const share = i / DRAG_STEPS
          move({
            x: Math.round(from.x + (action.to.x - from.x) * share),
            y: Math.round(from.y + (action.to.y - from.y) * share),
          })
          await sync()
        }
        fake(BUTTON_RELEASE, BUTTON_NUMBERS[action.button])
        break
      }
      case 'scroll':
        wheel(action.dy > 0 ? WHEEL.up : WHEEL.down, action.dy)
        wheel(action.dx > 0 ? WHEEL.right : WHEEL.left, action.dx)
        break
      case 'type':
        for (const character of action.text) {
          const keysym = keysymOfCharacter(character)
          if (keysym !== null) await stroke(keysym)
        }
        break
      case 'press':
        for (const key of action.keys) await stroke(keysymOf(key) as number)
        break
      case 'hotkey': {
        const codes: number[] = []
        for (const key of action.keys) codes.push(await codeOf(key))
        for (const code of codes) fake(KEY_PRESS, code)
        for (const code of codes.reverse()) fake(KEY_RELEASE, code)
        break
      }
      case 'key-down':
        fake(KEY_PRESS, await codeOf(action.key))
        break
      case 'key-up':
        fake(KEY_RELEASE, await codeOf(action.key))
        break
      case 'wait':
      case 'end':
        break
    }
    await sync()
  }

  const atom = (name: string) => ask<number>((done) => X.InternAtom(false, name, done))
  const atoms = {
    supported: await atom('_NET_SUPPORTING_WM_CHECK'),
    clients: await atom('_NET_CLIENT_LIST'),
    name: await atom('_NET_WM_NAME'),
    activate: await atom('_NET_ACTIVE_WINDOW'),
    close: await atom('_NET_CLOSE_WINDOW'),
  }
  /** WM_NAME and WM_CLASS have fixed numbers. */
  const [PLAIN_NAME, CLASS] = [39, 67]
  const property = async (window: number, name: number): Promise<Buffer> => {
    try {
      return (
        await ask<{ readonly data: Buffer }>((done) => X.GetProperty(0, window, name, 0, 0, 4096, done))
      ).data
    } catch (error) {
      if (error instanceof RlError) throw error
      return Buffer.alloc(0) // the window has gone
    }
  }

  async function windows(): Promise<readonly Window[]> {
    const list = await property(root, atoms.clients)
    const ids = Array.from({ length: Math.min(MOST_WINDOWS, list.length >> 2) }, (_, i) =>
      list.readUInt32LE(4 * i),
    )
    return Promise.all(
      ids.map(async (id) => {
        const [name, plain, kind] = await Promise.all([
          property(id, atoms.name),
          property(id, PLAIN_NAME),
          property(id, CLASS),
        ])
        const title = name.length > 0 ? name.toString() : plain.toString('latin1')
        return { id, title, class: kind.toString('latin1').split('\0').filter(Boolean).join('.') }
      }),
    )
  }

  async function tell(query: WindowQuery, type: number): Promise<boolean> {
    const found = (await windows()).filter((window) => fits(window, query)).at(-1)
    if (!found) return false
    const event = Buffer.alloc(32)
    event[0] = 33
    event[1] = 32
    event.writeUInt32LE(found.id, 4)
    event.writeUInt32LE(type, 8)
    // Source of the activation: a person's tool, so the window manager does not refuse.
    event.writeUInt32LE(type === atoms.activate ? 2 : 0, 12)
    X.SendEvent(root, 0, TO_WINDOW_MANAGER, event)
    await sync()
    return true
  }

  return {
    input,
    pointer,
    managed: async () => (await property(root, atoms.supported)).length > 0,
    windows,
    activate: (query) => tell(query, atoms.activate),
    shut: (query) => tell(query, atoms.close),
    async geometry(window) {
      const { width, height } = await ask<ScreenSize>((done) => X.GetGeometry(window, done))
      return { width, height }
    },
    close: () => stream.destroy(),
  }
}

const DRAG_STEPS = 8

export function fits(window: Window, { name, strict, byClass }: WindowQuery): boolean {
  const [text, wanted] = [(byClass ? window.class : window.title).toLowerCase(), name.toLowerCase()]
  return strict ? text === wanted : text.includes(wanted)
}

type Done<Answer> = (error: Error | null, answer: Answer) => void

/** The used part of the package x11. */
type X11Client = {
  readonly display: { readonly min_keycode: number; readonly max_keycode: number }
  atoms: Readonly<Record<string, number>>
  on(event: 'error', listener: (error: Error) => void): void
  on(event: 'end', listener: () => void): void
  require(extension: 'xtest', done: Done<XTest>): void
  GetInputFocus(done: Done<unknown>): void
  GetKeyboardMapping(first: number, count: number, done: Done<readonly (readonly number[])[]>): void
  ChangeKeyboardMapping(first: number, columns: number, keysyms: readonly number[]): void
  QueryPointer(window: number, done: Done<{ readonly rootX: number; readonly rootY: number }>): void
  InternAtom(onlyIfThere: boolean, name: string, done: Done<number>): void
  GetProperty(
    remove: 0,
    window: number,
    name: number,
    type: number,
    offset: number,
    length: number,
    done: Done<{ readonly data: Buffer }>,
  ): void
  GetGeometry(window: number, done: Done<ScreenSize>): void
  SendEvent(window: number, propagate: 0, mask: number, event: Buffer): void
}

type XTest = {
  FakeInput(type: number, detail: number, time: number, window: number, x: number, y: number): void
}

type X11Display = { readonly client: X11Client; readonly screen: readonly { readonly root: number }[] }

type X11 = {
  createClient(
    options: { readonly stream: object; readonly display: string },
    done: (error: Error | null, display: X11Display) => void,
  ): void
}

async function library(): Promise<X11> {
  try {
    // A name that compilers do not follow: the package has no types and may be absent.
    const name: string = 'x11'
    return ((await import(name)) as { readonly default: X11 }).default
  } catch (cause) {
    throw new RlError('local desktops need the npm package x11', {
      code: 'desktop.missing',
      hint: 'run: npm install x11',
      cause,
    })
  }
}
