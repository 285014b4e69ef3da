/** pyautogui's calls as actions. Durations and easings are left out: they change nothing but the time that a movement takes. */

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
  withinReach,
} from '../action.ts'
import { type Call, parseStatements, type Value } from './python-calls.ts'

/**
 * Actions of the code, and its output. OSWorld's client asks for the platform and for places of files by
 * outputs.
 */
export type Script = { readonly actions: readonly ScreenAction[]; readonly output: string }

/** Facts that code may ask of its machine. */
export type Machine = {
  /** Python's name of the architecture, e.g. `x86_64`. */
  readonly architecture: string
  readonly home: string
}

const MODULES = ['pyautogui', 'time', 'platform', 'os']
/**
 * After release 1.0.2 OSWorld's client begins with a rule for the key Shift. The rule needs more than this
 * grammar and is not needed here. It is cut: from the first of these texts to the second.
 */
const SHIFT_RULE = ['_osworld_shift_chars = ', ' else _osworld_shift_chars); '] as const
const SETTINGS = ['pyautogui.FAILSAFE', 'pyautogui.PAUSE', 'pyautogui.MINIMUM_DURATION']

/**
 * Reads an action in OSWorld's action space `pyautogui`: code, or WAIT, DONE or FAIL.
 * @throws RlError `screen.action`
 */
export function parsePyautogui(source: string): readonly ScreenAction[] {
  const word = source.trim()
  if (word === 'WAIT') return [{ type: 'wait', seconds: 1 }]
  if (word === 'DONE' || word === 'FAIL') return [{ type: 'end', status: word === 'DONE' ? 'done' : 'fail' }]
  const { actions } = parseScript(source)
  if (actions.length === 0) throw actionError('the code does nothing')
  return actions
}

/**
 * @throws RlError `screen.action` if the code has more than calls of pyautogui and time.sleep with literals
 */
export function parseScript(source: string, machine: Machine | null = null): Script {
  const actions: ScreenAction[] = []
  let output = ''
  for (const statement of parseStatements(withoutShiftRule(source))) {
    if (statement.kind === 'import') {
      if (!MODULES.includes(statement.module))
        throw actionError(`the module ${statement.module} cannot be used here`)
    } else if (statement.kind === 'assignment') {
      if (!SETTINGS.includes(statement.name)) throw actionError(`${statement.name} cannot be set here`)
    } else if (statement.name === 'print') output += printed(statement, machine)
    else actions.push(...actionsOf(statement))
    if (actions.length > LIMITS.actions) throw actionError(`more than ${LIMITS.actions} actions`)
  }
  return { actions: withinReach(actions), output }
}

function withoutShiftRule(source: string): string {
  const [begin, end] = SHIFT_RULE
  const [from, to] = [source.indexOf(begin), source.indexOf(end)]
  const isThere = from >= 0 && to > from && !/['"\n]/.test(source.slice(0, from))
  return isThere ? source.slice(0, from) + source.slice(to + end.length) : source
}

function printed({ positional, named }: Call, machine: Machine | null): string {
  const [value] = positional
  if (value === undefined || positional.length !== 1 || named.size > 0)
    throw actionError('print takes one value here')
  return `${answerTo(value, machine)}\n`
}

/** Returns a literal, or the answer to a known question. */
function answerTo(value: Value, machine: Machine | null): string {
  if (value.kind === 'literal' && typeof value.value !== 'boolean' && value.value !== null)
    return String(value.value)
  if (value.kind === 'call' && value.named.size === 0) {
    const { name, positional } = value
    const [first] = positional
    if (name === 'platform.system' && positional.length === 0) return 'Linux'
    if (name === 'platform.machine' && positional.length === 0 && machine) return machine.architecture
    if (name === 'os.getenv' && positional.length === 1 && machine && first && isText(first, 'HOME'))
      return machine.home
    if (name === 'os.path.expanduser' && positional.length === 1 && machine && first)
      return answerTo(first, machine).replace(/^~(?=\/|$)/, () => machine.home)
    if (name === 'os.path.join' && positional.length > 0)
      return positional
        .map((part) => answerTo(part, machine))
        .reduce((path, part) =>
          part.startsWith('/') ? part : `${path}${path === '' || path.endsWith('/') ? '' : '/'}${part}`,
        )
  }
  throw actionError('only literals, the platform and paths below the home can be printed here')
}

const isText = (value: Value, text: string) => value.kind === 'literal' && value.value === text

type Reader = (args: Arguments) => readonly ScreenAction[]

const click =
  (button: string | null, clicks: number | null): Reader =>
  (args) => [
    {
      type: 'click',
      at: args.point(),
      count: clicks ?? wholeIn('clicks', args.get('clicks', 2) ?? 1, 1, LIMITS.clicks),
      button: buttonOf(button ?? args.get('button', 4) ?? 'left'),
    },
  ]

const typed: Reader = (args) => {
  const message = args.get('message', 0)
  if (!Array.isArray(message)) return [{ type: 'type', text: textOf('message', message) }]
  return message.length === 0 ? [] : [{ type: 'press', keys: keysOf(message) }]
}

const scroll =
  (across: boolean): Reader =>
  (args) => {
    const notches = Math.trunc(numberIn('clicks', args.get('clicks', 0), -LIMITS.notches, LIMITS.notches))
    const at = args.point(1)
    return [{ type: 'scroll', at, dx: across ? notches : 0, dy: across ? 0 : notches }]
  }

/** Each function with the names of its arguments in order, of which point() takes x and y. */
const FUNCTIONS: Readonly<Record<string, { readonly arguments: readonly string[]; readonly read: Reader }>> =
  {
    'pyautogui.moveTo': {
      arguments: ['x', 'y', 'duration', 'tween', 'logScreenshot'],
      read: (args) => [{ type: 'move', to: args.point() ?? missing('x') }],
    },
    'pyautogui.click': {
      arguments: ['x', 'y', 'clicks', 'interval', 'button', 'duration', 'tween', 'logScreenshot'],
      read: click(null, null),
    },
    ...Object.fromEntries(
      (
        [
          ['leftClick', 'left', 1],
          ['rightClick', 'right', 1],
          ['middleClick', 'middle', 1],
          ['doubleClick', null, 2],
          ['tripleClick', null, 3],
        ] as const
      ).map(([name, button, clicks]) => [
        `pyautogui.${name}`,
        // The plain functions have no count and no button of their own.
        {
          arguments: ['x', 'y', 'interval', ...(button === null ? ['button'] : []), 'duration', 'tween'],
          read: (args: Arguments) => [
            {
              type: 'click',
              at: args.point(),
              count: clicks,
              button: buttonOf(button ?? args.get('button', 3) ?? 'left'),
            } as const,
          ],
        },
      ]),
    ),
    'pyautogui.mouseDown': {
      arguments: ['x', 'y', 'button', 'duration', 'tween'],
      read: (args) => [
        { type: 'button-down', at: args.point(), button: buttonOf(args.get('button', 2) ?? 'left') },
      ],
    },
    'pyautogui.mouseUp': {
      arguments: ['x', 'y', 'button', 'duration', 'tween'],
      read: (args) => [
        { type: 'button-up', at: args.point(), button: buttonOf(args.get('button', 2) ?? 'left') },
      ],
    },
    'pyautogui.dragTo': {
      arguments: ['x', 'y', 'duration', 'tween', 'button', 'logScreenshot', '_pause', 'mouseDownUp'],
      read: (args) => [
        {
          type: 'drag',
          to: args.point() ?? missing('x'),
          button: buttonOf(args.get('button', 4) ?? 'left'),
        },
      ],
    },
    ...Object.fromEntries(
      ['scroll', 'vscroll', 'hscroll'].map((name) => [
        `pyautogui.${name}`,
        { arguments: ['clicks', 'x', 'y'], read: scroll(name === 'hscroll') },
      ]),
    ),
    ...Object.fromEntries(
      ['typewrite', 'write'].map((name) => [
        `pyautogui.${name}`,
        { arguments: ['message', 'interval'], read: typed },
      ]),
    ),
    'pyautogui.press': {
      arguments: ['keys', 'presses', 'interval'],
      read: (args) => {
        const given = args.get('keys', 0)
        const keys = keysOf(Array.isArray(given) ? given : [given])
        const presses = wholeIn('presses', args.get('presses', 1) ?? 1, 1, LIMITS.keys)
        return [{ type: 'press', keys: Array.from({ length: presses }, () => keys).flat() }]
      },
    },
    'pyautogui.keyDown': {
      arguments: ['key'],
      read: (args) => [{ type: 'key-down', key: keyOf(args.get('key', 0)) }],
    },
    'pyautogui.keyUp': {
      arguments: ['key'],
      read: (args) => [{ type: 'key-up', key: keyOf(args.get('key', 0)) }],
    },
    'time.sleep': { arguments: ['secs'], read: (args) => [waiting(args.get('secs', 0))] },
    'pyautogui.sleep': { arguments: ['seconds'], read: (args) => [waiting(args.get('seconds', 0))] },
  }

function waiting(seconds: unknown): ScreenAction {
  return { type: 'wait', seconds: numberIn('seconds', seconds, 0, LIMITS.waitSeconds) }
}

function actionsOf(call: Call): readonly ScreenAction[] {
  if (call.name === 'pyautogui.hotkey') {
    const given = call.positional.map(plain)
    if ([...call.named.keys()].some((name) => name !== 'interval')) throw unknownArgument(call)
    return [
      { type: 'hotkey', keys: keysOf(given.length === 1 && Array.isArray(given[0]) ? given[0] : given) },
    ]
  }
  const known = ownValue(FUNCTIONS, call.name)
  if (!known) throw actionError(`${call.name} is not a function that can be called here`)
  const { arguments: names, read } = known
  if (call.positional.length > names.length)
    throw actionError(`${call.name} has ${call.positional.length} arguments`)
  if ([...call.named.keys()].some((name) => !names.includes(name) && name !== '_pause'))
    throw unknownArgument(call)
  return read(argumentsOf(call, names))
}

function unknownArgument({ name, named }: Call) {
  return actionError(`${name} has no such arguments: ${[...named.keys()].join(', ')}`)
}

type Arguments = {
  /** Returns the plain value, or undefined if it is not given. */
  readonly get: (name: string, place: number) => unknown
  /**
   * Returns the point of the arguments x and y, with x at `place`, or with a pair in the place of x. Returns
   * null if there is none.
   */
  readonly point: (place?: number) => Point | null
}

function argumentsOf({ name, positional, named }: Call, names: readonly string[]): Arguments {
  const get = (key: string, place: number): unknown => {
    const [byPlace, byName] = [positional[place], named.get(key)]
    if (byPlace && byName) throw actionError(`${name} has ${key} twice`)
    const value = byPlace ?? byName
    return value === undefined ? undefined : plain(value)
  }
  return {
    get: (key, place) => get(key, names.indexOf(key) >= 0 ? names.indexOf(key) : place),
    point(place = 0) {
      const [x, y] = [get('x', place), get('y', place + 1)]
      if (Array.isArray(x) && x.length === 2 && (y === undefined || y === null)) return pointOf(x[0], x[1])
      const none = (value: unknown) => value === undefined || value === null
      if (none(x) && none(y)) return null
      return pointOf(x, y)
    },
  }
}

/** Returns numbers, texts and lists of them. A name (an easing) becomes null. */
function plain(value: Value): unknown {
  if (value.kind === 'literal') return value.value
  if (value.kind === 'list') return value.items.map(plain)
  if (value.kind === 'name' && /^pyautogui\.ease\w+$|^pyautogui\.linear$/.test(value.name)) return null
  throw actionError(`${shown(value.name)} is no value`)
}

function missing(name: string): never {
  throw actionError(`${name} is missing`)
}
