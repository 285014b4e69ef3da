/** An X display: input by the extension XTEST, and windows by the hints of window managers. */
import type { Button, Point, ScreenAction, ScreenSize } from '../screen/action.ts'
import { keysymOf } from '../screen/keys.ts'
import { openKeyboard } from './keyboard.ts'
import { keysIn } from './strokes.ts'
import { openWindows, type Windows } from './windows.ts'
import { connectDisplay, type XTest } from './x11.ts'

const BUTTON_NUMBERS: Readonly<Record<Button, number>> = { left: 1, middle: 2, right: 3 }
const WHEEL = { up: 4, down: 5, left: 6, right: 7 } as const
const [KEY_PRESS, KEY_RELEASE, BUTTON_PRESS, BUTTON_RELEASE, MOTION] = [2, 3, 4, 5, 6]

export type Display = Windows & {
  /** Gives each character of an action a key. Resolves to true if programs must take a changed keyboard first. */
  readonly prepare: (action: ScreenAction) => Promise<boolean>
  /** Resolves when the server has taken the input; programs may still be busy with it. */
  readonly input: (action: ScreenAction) => Promise<void>
  readonly pointer: () => Promise<Point>
  readonly close: () => void
}

/** @param socket of the display, e.g. below /proc/<pid>/root */
export async function openDisplay(socket: string, { width, height }: ScreenSize): Promise<Display> {
  const connection = await connectDisplay(socket)
  const { client: X, root, ask, sync } = connection
  const xtest = await ask<XTest>((done) => X.require('xtest', done))
  const fake = (type: number, detail: number, x = 0, y = 0) => xtest.FakeInput(type, detail, 0, root, x, y)
  const keyboard = await openKeyboard(connection, (how, code) =>
    fake(how === 'press' ? KEY_PRESS : KEY_RELEASE, code),
  )

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

  const prepare = (action: ScreenAction) =>
    keyboard.lend(keysIn(action).flatMap((key) => keysymOf(key) ?? []))

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
        for (const character of action.text) await keyboard.type(character)
        break
      case 'press':
        for (const key of action.keys) await keyboard.press(key)
        break
      case 'hotkey': {
        const codes: number[] = []
        for (const key of action.keys) codes.push(await keyboard.codeOf(key))
        for (const code of codes) fake(KEY_PRESS, code)
        for (const code of codes.reverse()) fake(KEY_RELEASE, code)
        break
      }
      case 'key-down':
        fake(KEY_PRESS, await keyboard.codeOf(action.key))
        break
      case 'key-up':
        fake(KEY_RELEASE, await keyboard.codeOf(action.key))
        break
      case 'wait':
      case 'end':
        break
    }
    await sync()
  }

  return { ...(await openWindows(connection)), prepare, input, pointer, close: connection.close }
}

const DRAG_STEPS = 8
