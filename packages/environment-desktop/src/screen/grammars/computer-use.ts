/** The tool call `computer_use` of Qwen's vision models, with coordinates from 0 to 999 over the whole screen. */
import { cutAtTags } from 'rlanything/kit'
import {
  actionError,
  keysOf,
  LIMITS,
  numberIn,
  type Point,
  type ScreenAction,
  type ScreenSize,
  shown,
  textOf,
} from '../action.ts'

const SCALE = 999

type Fields = Readonly<Record<string, unknown>>

/**
 * Reads a model's answer: free text with a tool call `{"name": "computer_use", "arguments": {"action": ...,
 * ...}}`. Of several calls the last one counts.
 * @throws RlError `screen.action`
 */
export function parseComputerUse(answer: string, screen: ScreenSize): readonly ScreenAction[] {
  if (answer.length > LIMITS.source)
    throw actionError(`an answer of ${answer.length} characters, more than ${LIMITS.source}`)
  const source = cutAtTags(answer, 'tool_call').bodies.at(-1)
  if (source === undefined) throw actionError('the answer has no <tool_call>')
  let call: unknown
  try {
    call = JSON.parse(source)
  } catch {
    throw actionError(`the tool call ${shown(source.trim())} is no JSON`)
  }
  const { name, arguments: fields } = (typeof call === 'object' && call !== null ? call : {}) as Fields
  if (name !== 'computer_use') throw actionError(`the tool is ${shown(name)}, expected computer_use`)
  if (typeof fields !== 'object' || fields === null)
    throw actionError(`the tool's arguments are ${shown(fields)}`)
  return actionsOf(fields as Fields, screen)
}

function actionsOf(fields: Fields, screen: ScreenSize): readonly ScreenAction[] {
  const point = (name = 'coordinate') => scaled(name, fields[name], screen)
  const optional = () => (fields.coordinate === undefined ? null : point())
  const click = (button: 'left' | 'middle' | 'right', count: number): ScreenAction[] => [
    { type: 'click', at: optional(), button, count },
  ]
  switch (fields.action) {
    case 'key': {
      const keys = keysOf(Array.isArray(fields.keys) ? fields.keys : [fields.keys])
      return [keys.length === 1 ? { type: 'press', keys } : { type: 'hotkey', keys }]
    }
    case 'type':
      return [{ type: 'type', text: textOf('text', fields.text) }]
    case 'mouse_move':
      return [{ type: 'move', to: point() }]
    case 'left_click':
      return click('left', 1)
    case 'right_click':
      return click('right', 1)
    case 'middle_click':
      return click('middle', 1)
    case 'double_click':
      return click('left', 2)
    case 'triple_click':
      return click('left', 3)
    case 'left_click_drag': {
      const from = fields.start_coordinate === undefined ? [] : [point('start_coordinate')]
      return [
        ...from.map((to): ScreenAction => ({ type: 'move', to })),
        { type: 'drag', to: point(), button: 'left' },
      ]
    }
    case 'scroll':
    case 'hscroll': {
      const notches = Math.trunc(numberIn('pixels', fields.pixels, -LIMITS.notches, LIMITS.notches))
      const across = fields.action === 'hscroll'
      return [{ type: 'scroll', at: optional(), dx: across ? notches : 0, dy: across ? 0 : notches }]
    }
    case 'wait':
      return [{ type: 'wait', seconds: numberIn('time', fields.time ?? 1, 0, LIMITS.waitSeconds) }]
    case 'terminate':
      if (fields.status !== 'success' && fields.status !== 'failure')
        throw actionError(`status is ${shown(fields.status)}, expected success or failure`)
      return [{ type: 'end', status: fields.status === 'success' ? 'done' : 'fail' }]
    default:
      throw actionError(`there is no action ${shown(fields.action)}`)
  }
}

function scaled(name: string, value: unknown, { width, height }: ScreenSize): Point {
  if (!Array.isArray(value) || value.length !== 2)
    throw actionError(`${name} is ${shown(value)}, expected [x, y]`)
  const read = (one: unknown) => numberIn(name, one, 0, SCALE + 1)
  const [x, y] = [read(value[0]), read(value[1])]
  return {
    x: Math.min(width - 1, Math.trunc((x * width) / SCALE)),
    y: Math.min(height - 1, Math.trunc((y * height) / SCALE)),
  }
}
