/** Mouse and keyboard by the protocol: events that a page cannot tell from a person's. */

import { type Button, type Point, type ScreenAction, withShift } from '@rlanything/environment-desktop/screen'
import { RlError } from 'rlanything/kit'
import { type PageKey, pageKeyOf } from './keys.ts'

export type Send = (
  method: string,
  params: Readonly<Record<string, unknown>>,
  deadlineMs: number,
) => Promise<unknown>

export type Input = {
  /** Does one action, except waits and ends. Points are pixels of the page. */
  readonly perform: (action: ScreenAction, deadlineMs: number) => Promise<void>
  /** Releases all held keys and buttons. Takes the pointer off the page if there was any input. */
  readonly rest: (deadlineMs: number) => Promise<void>
}

const BUTTON_BITS: Readonly<Record<Button, number>> = { left: 1, right: 2, middle: 4 }
const SHIFT_BIT = 8
/** Returns the key as it is with shift. */
const shifted = (key: PageKey, shift: boolean): PageKey =>
  shift && key.text === key.key && key.location === 0
    ? { ...key, key: withShift(key.key), text: withShift(key.text) }
    : key

const OFF: Point = { x: -1, y: -1 }
/** Number of moves of a drag. Lists that are sorted by dragging need moves over their middle. */
const DRAG_MOVES = 5
const NOTCH_PIXELS = 100

export function createInput(send: Send): Input {
  let at = OFF
  const buttons = new Set<Button>()
  const held = new Map<string, PageKey>()

  const modifiers = () => [...held.values()].reduce((bits, { modifier }) => bits | modifier, 0)
  const bits = () => [...buttons].reduce((sum, button) => sum | BUTTON_BITS[button], 0)
  const mouse = (type: string, deadlineMs: number, more: object = {}) =>
    send(
      'Input.dispatchMouseEvent',
      { type, ...at, modifiers: modifiers(), buttons: bits(), ...more },
      deadlineMs,
    )

  async function move(to: Point, deadlineMs: number): Promise<void> {
    at = to
    const [button = 'none'] = buttons
    await mouse('mouseMoved', deadlineMs, { button })
  }

  async function press(button: Button, clickCount: number, deadlineMs: number): Promise<void> {
    buttons.add(button)
    await mouse('mousePressed', deadlineMs, { button, clickCount })
  }

  async function release(button: Button, clickCount: number, deadlineMs: number): Promise<void> {
    buttons.delete(button)
    await mouse('mouseReleased', deadlineMs, { button, clickCount })
  }

  /** Sent at once: the browser obeys in order. */
  function key(name: string, down: boolean, deadlineMs: number): Promise<unknown> {
    const one = pageKeyOf(name)
    if (!one) throw new RlError(`there is no key '${name}'`, { code: 'screen.action' })
    if (down) held.set(name, one)
    else held.delete(name)
    const { key, code, keyCode, text, location } = shifted(one, (modifiers() & SHIFT_BIT) !== 0)
    // With ctrl, alt or meta a key writes nothing.
    const writes = down && text !== '' && (modifiers() & ~SHIFT_BIT) === 0
    return send(
      'Input.dispatchKeyEvent',
      {
        type: down ? (writes ? 'keyDown' : 'rawKeyDown') : 'keyUp',
        key,
        code,
        location,
        modifiers: modifiers(),
        windowsVirtualKeyCode: keyCode,
        ...(location === 3 ? { isKeypad: true } : {}),
        ...(writes ? { text, unmodifiedText: text } : {}),
      },
      deadlineMs,
    )
  }

  /** Presses keys in order and releases them in the opposite order. Adds shift if a character needs it. */
  function stroke(keys: readonly string[], deadlineMs: number): Promise<unknown>[] {
    const isHeld =
      (modifiers() & SHIFT_BIT) !== 0 || keys.some((name) => pageKeyOf(name)?.modifier === SHIFT_BIT)
    const wants = keys.some((name) => pageKeyOf(name)?.shifted)
    const all = wants && !isHeld ? ['shift', ...keys] : keys
    return [
      ...all.map((name) => key(name, true, deadlineMs)),
      ...all.toReversed().map((name) => key(name, false, deadlineMs)),
    ]
  }

  return {
    async perform(action, deadlineMs) {
      switch (action.type) {
        case 'move':
          return move(action.to, deadlineMs)
        case 'click':
          if (action.at) await move(action.at, deadlineMs)
          for (let count = 1; count <= action.count; count++) {
            await press(action.button, count, deadlineMs)
            await release(action.button, count, deadlineMs)
          }
          return
        case 'button-down':
          if (action.at) await move(action.at, deadlineMs)
          return press(action.button, 1, deadlineMs)
        case 'button-up':
          if (action.at) await move(action.at, deadlineMs)
          return release(action.button, 1, deadlineMs)
        case 'drag': {
          const from = at
          const part = (k: number, axis: 'x' | 'y') =>
            from[axis] + ((action.to[axis] - from[axis]) * k) / DRAG_MOVES
          await press(action.button, 1, deadlineMs)
          for (let k = 1; k <= DRAG_MOVES; k++) await move({ x: part(k, 'x'), y: part(k, 'y') }, deadlineMs)
          return release(action.button, 1, deadlineMs)
        }
        case 'scroll':
          if (action.at) await move(action.at, deadlineMs)
          await mouse('mouseWheel', deadlineMs, {
            deltaX: action.dx * NOTCH_PIXELS,
            deltaY: -action.dy * NOTCH_PIXELS,
          })
          return
        case 'type':
          await Promise.all([...action.text].flatMap((letter) => stroke([letter], deadlineMs)))
          return
        case 'press':
          await Promise.all(action.keys.flatMap((name) => stroke([name], deadlineMs)))
          return
        case 'hotkey':
          await Promise.all(stroke(action.keys, deadlineMs))
          return
        case 'key-down':
          await key(action.key, true, deadlineMs)
          return
        case 'key-up':
          await key(action.key, false, deadlineMs)
          return
      }
    },
    async rest(deadlineMs) {
      for (const name of [...held.keys()]) await key(name, false, deadlineMs)
      for (const button of [...buttons]) await release(button, 1, deadlineMs)
      // If only keys were used, the pointer is off the page already. A move would take a frame of the screen.
      if (at !== OFF) await move(OFF, deadlineMs)
    },
  }
}
