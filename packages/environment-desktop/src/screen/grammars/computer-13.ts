/** OSWorld's action space `computer_13`: `{action_type, parameters?}`, its parameters also beside the type. */

import { ownValue } from 'rlanything/kit'
import {
  actionError,
  buttonOf,
  keyOf,
  keysOf,
  LIMITS,
  numberIn,
  type Point,
  pointOf,
  type ScreenAction,
  shown,
  textOf,
  wholeIn,
} from '../action.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Reads a value, or JSON text of one.
 * @throws RlError `screen.action`
 */
export function parseComputer13(source: unknown): readonly ScreenAction[] {
  const action = typeof source === 'string' ? fromText(source) : source
  if (typeof action === 'string') return [ending(action)]
  if (typeof action !== 'object' || action === null || Array.isArray(action))
    throw actionError(`an action is ${shown(action)}, expected {action_type, parameters}`)
  const { action_type: type, parameters, ...beside } = action as Fields
  if (typeof type !== 'string') throw actionError(`action_type is ${shown(type)}`)
  if (parameters !== undefined && (typeof parameters !== 'object' || parameters === null))
    throw actionError(`parameters is ${shown(parameters)}`)
  const fields: Fields = { ...beside, ...(parameters as Fields | undefined) }
  const reader = ownValue(READERS, type)
  if (reader === undefined) return [ending(type)]
  for (const name of Object.keys(fields))
    if (!reader.fields.includes(name)) throw actionError(`${type} has no parameter ${shown(name)}`)
  return [reader.read(fields)]
}

function fromText(source: string): unknown {
  if (source.length > LIMITS.source)
    throw actionError(`an action of ${source.length} characters, more than ${LIMITS.source}`)
  const text = source.trim()
  if (/^[A-Z]+$/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    throw actionError(`${shown(text)} is no JSON`)
  }
}

function ending(word: string): ScreenAction {
  if (word === 'WAIT') return { type: 'wait', seconds: 1 }
  if (word === 'DONE' || word === 'FAIL') return { type: 'end', status: word === 'DONE' ? 'done' : 'fail' }
  throw actionError(`there is no action_type ${shown(word)}`)
}

const at = ({ x, y }: Fields): Point | null => (x === undefined && y === undefined ? null : pointOf(x, y))
const button = (fields: Fields) => buttonOf(fields.button ?? 'left')
const notches = (name: string, value: unknown) =>
  Math.trunc(numberIn(name, value ?? 0, -LIMITS.notches, LIMITS.notches))

const READERS: Readonly<
  Record<string, { readonly fields: readonly string[]; readonly read: (fields: Fields) => ScreenAction }>
> = {
  MOVE_TO: { fields: ['x', 'y'], read: ({ x, y }) => ({ type: 'move', to: pointOf(x, y) }) },
  CLICK: {
    fields: ['button', 'x', 'y', 'num_clicks'],
    read: (fields) => ({
      type: 'click',
      at: at(fields),
      button: button(fields),
      count: wholeIn('num_clicks', fields.num_clicks ?? 1, 1, LIMITS.clicks),
    }),
  },
  RIGHT_CLICK: {
    fields: ['x', 'y'],
    read: (fields) => ({ type: 'click', at: at(fields), button: 'right', count: 1 }),
  },
  DOUBLE_CLICK: {
    fields: ['x', 'y'],
    read: (fields) => ({ type: 'click', at: at(fields), button: 'left', count: 2 }),
  },
  MOUSE_DOWN: {
    fields: ['button'],
    read: (fields) => ({ type: 'button-down', at: null, button: button(fields) }),
  },
  MOUSE_UP: {
    fields: ['button'],
    read: (fields) => ({ type: 'button-up', at: null, button: button(fields) }),
  },
  DRAG_TO: {
    fields: ['x', 'y'],
    read: ({ x, y }) => ({ type: 'drag', to: pointOf(x, y), button: 'left' }),
  },
  SCROLL: {
    fields: ['dx', 'dy'],
    read: ({ dx, dy }) => ({ type: 'scroll', at: null, dx: notches('dx', dx), dy: notches('dy', dy) }),
  },
  TYPING: { fields: ['text'], read: ({ text }) => ({ type: 'type', text: textOf('text', text) }) },
  PRESS: { fields: ['key'], read: ({ key }) => ({ type: 'press', keys: [keyOf(key)] }) },
  KEY_DOWN: { fields: ['key'], read: ({ key }) => ({ type: 'key-down', key: keyOf(key) }) },
  KEY_UP: { fields: ['key'], read: ({ key }) => ({ type: 'key-up', key: keyOf(key) }) },
  HOTKEY: {
    fields: ['keys'],
    read({ keys }) {
      if (!Array.isArray(keys)) throw actionError(`keys is ${shown(keys)}, expected a list`)
      return { type: 'hotkey', keys: keysOf(keys) }
    },
  },
}
