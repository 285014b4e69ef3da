/**
 * Commands in plain words, for policies that read text: `click "Save"`, `type hello`, `press ctrl+s`.
 * Elements have the names of the accessibility tree. If several have one name, the second is `"Save" 2`.
 */

import type { AccessibleNode } from '../computer.ts'
import {
  actionError,
  keysOf,
  LIMITS,
  type Point,
  pointOf,
  type ScreenAction,
  shown,
  textOf,
} from '../screen/action.ts'

/** Roles that can be clicked. */
const CLICKABLE =
  /^((push |toggle |radio |label )?button|switch|check box|menu|menu item|check menu item|radio menu item|page tab|icon|link|entry|text|password text|spin button|slider|combo box|list item|table cell|tree item)$/

const LONGEST_LABEL = 80

/** An element that commands can name. */
export type Target = {
  /** Name, with a number if several elements have it, e.g. `"Save" 2`. */
  readonly label: string
  readonly node: AccessibleNode
  readonly at: Point
}

/** Returns the shown elements with a name (and text fields without one), in the order of the tree. */
export function targetsIn(tree: AccessibleNode): readonly Target[] {
  const counts = new Map<string, number>()
  const found: Target[] = []
  const visit = (node: AccessibleNode): void => {
    const { role, box, states } = node
    const label = labelOf(node).slice(0, LONGEST_LABEL)
    if (label !== '' && box && CLICKABLE.test(role) && states.includes('showing')) {
      const count = (counts.get(label) ?? 0) + 1
      counts.set(label, count)
      found.push({
        label: `${JSON.stringify(label)}${count === 1 ? '' : ` ${count}`}`,
        node,
        at: { x: box.x + (box.width >> 1), y: box.y + (box.height >> 1) },
      })
    }
    for (const child of node.children) visit(child)
  }
  visit(tree)
  return found
}

/**
 * Returns an element's label. Icons often have their name as a text. Fields without a name are called by
 * their role.
 */
function labelOf({ role, name, text }: AccessibleNode): string {
  if (name.trim() !== '') return name.trim()
  return role === 'icon'
    ? (text ?? '').trim()
    : /^(text|entry|password text|spin button|slider)$/.test(role)
      ? role
      : ''
}

const CLICKS = {
  click: { button: 'left', count: 1 },
  'double-click': { button: 'left', count: 2 },
  'right-click': { button: 'right', count: 1 },
} as const
const SCROLLS: ReadonlyMap<string | undefined, number> = new Map([
  ['up', 5],
  ['down', -5],
])

/** @throws RlError `screen.action` */
export function parseCommand(source: string, targets: readonly Target[]): readonly ScreenAction[] {
  if (source.length > LIMITS.source) throw actionError(`a command of ${source.length} characters`)
  const [, verb, rest] = /^\s*([a-z-]+)(?: ([\s\S]*))?$/.exec(source) ?? []
  switch (verb) {
    case 'click':
    case 'double-click':
    case 'right-click':
      return [{ type: 'click', at: placeOf(rest?.trim() ?? '', targets), ...CLICKS[verb] }]
    case 'type':
      return [{ type: 'type', text: textOf('the text', rest) }]
    case 'press': {
      const keys = keysOf((rest ?? '').trim().split(/(?<=.)\+/))
      return [keys.length === 1 ? { type: 'press', keys } : { type: 'hotkey', keys }]
    }
    case 'scroll': {
      const dy = SCROLLS.get(rest?.trim())
      if (dy === undefined) throw actionError(`scroll ${shown(rest)}, expected up or down`)
      return [{ type: 'scroll', at: null, dx: 0, dy }]
    }
    case 'wait':
      return [{ type: 'wait', seconds: 1 }]
    case 'done':
    case 'fail':
      return [{ type: 'end', status: verb }]
    default:
      throw actionError(`there is no command ${shown(source.slice(0, 40))}`)
  }
}

/** An element by its label, or a place in pixels. */
function placeOf(label: string, targets: readonly Target[]): Point {
  const pixels = /^(\d+) (\d+)$/.exec(label)
  if (pixels) return pointOf(Number(pixels[1]), Number(pixels[2]))
  const found = targets.find((target) => target.label === label)
  if (!found) throw actionError(`no element ${shown(label)} shows`)
  return found.at
}
