/** The answers of UI-TARS: `Thought: ... Action: click(point='<point>x y</point>')`, also with start_box and end_box. */
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
import { type Call, parseStatements, type Value } from './python-calls.ts'

/**
 * Range of an answer's coordinates: a scale for both axes (1000), or the pixels of the image for the model.
 */
export type CoordinateScale = number | ScreenSize

/** A point, or a box whose middle is meant, in any form of the model's releases. The end may be cut off. */
const PLACE =
  /^(?:<point>|<bbox>)?(?:<\|box_start\|>)?[([]?(-?[\d.]+(?:[\s,]+-?[\d.]+)+)[)\]]?(?:<\|box_end\|>)?(?:<\/point>|<\/bbox>)?$/
const BLANK_BESIDE = /\s*([<>()[\]])\s*/g
const LONGEST_PLACE = 100
const SCROLLED_NOTCHES = 5
const DIRECTIONS: ReadonlyMap<unknown, readonly [dx: number, dy: number]> = new Map([
  ['up', [0, 1]],
  ['down', [0, -1]],
  ['left', [-1, 0]],
  ['right', [1, 0]],
])

/** @throws RlError `screen.action` */
export function parseUiTars(
  answer: string,
  screen: ScreenSize,
  scale: CoordinateScale = 1000,
): readonly ScreenAction[] {
  if (answer.length > LIMITS.source)
    throw actionError(`an answer of ${answer.length} characters, more than ${LIMITS.source}`)
  const place = answer.lastIndexOf('Action:')
  if (place < 0) throw actionError("the answer has no 'Action:'")
  return parseStatements(answer.slice(place + 'Action:'.length)).flatMap((statement) => {
    if (statement.kind !== 'call') throw actionError(`${statement.kind} is no action`)
    return actionsOf(statement, screen, scale)
  })
}

function actionsOf(call: Call, screen: ScreenSize, scale: CoordinateScale): readonly ScreenAction[] {
  const text = (name: string) => textOf(name, plain(call.named.get(name) ?? call.positional[0]))
  const at = (first: string, ...others: readonly string[]): Point => {
    const value = [first, ...others].map((name) => call.named.get(name)).find(Boolean) ?? call.positional[0]
    return scaled(first, plain(value), screen, scale)
  }
  const start = () => at('point', 'start_point', 'start_box')
  switch (call.name) {
    case 'click':
    case 'left_single':
      return [{ type: 'click', at: start(), button: 'left', count: 1 }]
    case 'left_double':
      return [{ type: 'click', at: start(), button: 'left', count: 2 }]
    case 'right_single':
      return [{ type: 'click', at: start(), button: 'right', count: 1 }]
    case 'hover':
      return [{ type: 'move', to: start() }]
    case 'drag':
    case 'select':
      return [
        { type: 'move', to: at('start_point', 'start_box') },
        { type: 'drag', to: at('end_point', 'end_box'), button: 'left' },
      ]
    case 'hotkey': {
      const keys = keysOf(
        text('key')
          .split(/[\s+]+/)
          .filter((key) => key !== ''),
      )
      return [keys.length === 1 ? { type: 'press', keys } : { type: 'hotkey', keys }]
    }
    case 'press':
      return [{ type: 'press', keys: keysOf([text('key')]) }]
    case 'type': {
      const content = text('content')
      return [{ type: 'type', text: content }]
    }
    case 'scroll': {
      const direction = plain(call.named.get('direction'))
      const [dx, dy] = DIRECTIONS.get(direction) ?? fail(`direction is ${shown(direction)}`)
      const placed = ['point', 'start_box'].some((name) => call.named.has(name))
      return [
        {
          type: 'scroll',
          at: placed ? at('point', 'start_box') : null,
          dx: dx * SCROLLED_NOTCHES,
          dy: dy * SCROLLED_NOTCHES,
        },
      ]
    }
    case 'wait':
      return [{ type: 'wait', seconds: 5 }]
    case 'finished':
      return [{ type: 'end', status: 'done' }]
    case 'call_user':
      return [{ type: 'end', status: 'fail' }]
    default:
      return fail(`there is no action ${shown(call.name)}`)
  }
}

function plain(value: Value | undefined): unknown {
  return value?.kind === 'literal' ? value.value : undefined
}

function scaled(name: string, value: unknown, screen: ScreenSize, scale: CoordinateScale): Point {
  const written =
    typeof value === 'string' && value.length <= LONGEST_PLACE
      ? PLACE.exec(value.trim().replace(BLANK_BESIDE, '$1'))
      : null
  const numbers = written?.[1]?.split(/[\s,]+/).map(Number) ?? []
  const [left, top, right = left, bottom = top] = numbers
  const isPlace = numbers.length === 2 || numbers.length === 4
  if (!isPlace || left === undefined || top === undefined || right === undefined || bottom === undefined)
    throw actionError(`${name} is ${shown(value)}, expected a place such as <point>500 500</point>`)
  const across = typeof scale === 'number' ? { width: scale, height: scale } : scale
  const middle = (one: number, other: number, most: number) =>
    (numberIn(name, one, 0, most) + numberIn(name, other, 0, most)) / 2
  const [x, y] = [middle(left, right, across.width), middle(top, bottom, across.height)]
  return {
    x: Math.min(screen.width - 1, Math.round((x * screen.width) / across.width)),
    y: Math.min(screen.height - 1, Math.round((y * screen.height) / across.height)),
  }
}

function fail(message: string): never {
  throw actionError(message)
}
