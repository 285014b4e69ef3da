/**
 * The accessibility tree of a desktop (AT-SPI): the shown elements, read over the bus with many calls at
 * once.
 */
import { RlError } from 'rlanything/kit'
import type { AccessibleNode } from '../computer.ts'
import type { Dbus, DbusValue } from './dbus.ts'

const ROOT: Reference = ['org.a11y.atspi.Registry', '/org/a11y/atspi/accessible/root']
const ACCESSIBLE = 'org.a11y.atspi.Accessible'
const MOST_NODES = 4000
const MOST_DEPTH = 50
/** More children than these are not asked for: a sheet has more than sixteen thousand million. */
const MOST_CHILDREN = 600
const TABLE = { rows: 16, columns: 8 } as const
const MOST_TEXT = 20_000

type Reference = readonly [bus: string, path: string]

/** States by the place of their bit. */
const STATES = [
  ...['invalid', 'active', 'armed', 'busy', 'checked', 'collapsed', 'defunct', 'editable', 'enabled'],
  ...['expandable', 'expanded', 'focusable', 'focused', 'has-tooltip', 'horizontal', 'iconified', 'modal'],
  ...[
    'multi-line',
    'multiselectable',
    'opaque',
    'pressed',
    'resizable',
    'selectable',
    'selected',
    'sensitive',
  ],
  ...['showing', 'single-line', 'stale', 'transient', 'vertical', 'visible', 'manages-descendants'],
  ...['indeterminate', 'required', 'truncated', 'animated', 'invalid-entry', 'supports-autocompletion'],
  ...['selectable-text', 'is-default', 'visited', 'checkable', 'has-popup', 'read-only'],
]

/**
 * Returns the tree below the desktop, with one element a program. An element that is not shown is left out
 * with its content.
 */
export async function readAccessibility(bus: Dbus): Promise<AccessibleNode> {
  let left = MOST_NODES

  const call = async (
    [destination, path]: Reference,
    face: string,
    member: string,
    signature = '',
    body: readonly (string | number)[] = [],
  ): Promise<readonly DbusValue[] | null> => {
    try {
      return await bus.call({ destination, path, interface: face, member, signature, body })
    } catch (error) {
      // An element that has gone meanwhile, or has no such interface.
      if (error instanceof RlError && error.code === 'dbus.error') return null
      throw error
    }
  }
  const property = (of: Reference, face: string, name: string) =>
    call(of, 'org.freedesktop.DBus.Properties', 'Get', 'ss', [face, name])

  async function childrenOf(of: Reference, count: number): Promise<readonly Reference[]> {
    if (count <= MOST_CHILDREN) {
      const [found] = (await call(of, ACCESSIBLE, 'GetChildren')) ?? []
      return Array.isArray(found) ? found.flatMap(referenceOf) : []
    }
    const cells = Array.from({ length: TABLE.rows * TABLE.columns }, (_, i) =>
      call(of, 'org.a11y.atspi.Table', 'GetAccessibleAt', 'ii', [
        Math.floor(i / TABLE.columns),
        i % TABLE.columns,
      ]),
    )
    return (await Promise.all(cells)).flatMap((found) => (found ? referenceOf(found[0]) : []))
  }

  async function node(of: Reference, depth: number): Promise<AccessibleNode | null> {
    if (left-- <= 0 || depth > MOST_DEPTH) return null
    const [states, role, name, description, count, faces] = await Promise.all([
      call(of, ACCESSIBLE, 'GetState'),
      call(of, ACCESSIBLE, 'GetRoleName'),
      property(of, ACCESSIBLE, 'Name'),
      property(of, ACCESSIBLE, 'Description'),
      property(of, ACCESSIBLE, 'ChildCount'),
      call(of, ACCESSIBLE, 'GetInterfaces'),
    ])
    if (states === null || role === null) return null
    const known = statesOf(states[0])
    const isProgram = depth <= 1
    if (!isProgram && !known.includes('showing')) return null
    const has = (face: string) => Array.isArray(faces?.[0]) && faces[0].includes(`org.a11y.atspi.${face}`)
    const [extents, text, value, children] = await Promise.all([
      has('Component') ? call(of, 'org.a11y.atspi.Component', 'GetExtents', 'u', [0]) : null,
      has('Text') ? call(of, 'org.a11y.atspi.Text', 'GetText', 'ii', [0, MOST_TEXT]) : null,
      has('Value') ? property(of, 'org.a11y.atspi.Value', 'CurrentValue') : null,
      childrenIn(of, Number(count?.[0] ?? 0), depth + 1),
    ])
    return mended({
      role: String(role[0]),
      name: String(name?.[0] ?? ''),
      description: String(description?.[0] ?? ''),
      states: known,
      box: boxOf(extents?.[0]),
      text: typeof text?.[0] === 'string' ? text[0] : null,
      value: typeof value?.[0] === 'number' ? value[0] : null,
      children,
    })
  }

  /**
   * Corrects boxes of LibreOffice. It counts from below the menu bar, which the toolkit draws. If a pane
   * seems to lie under the menu bar, the pane is moved down by that height.
   */
  function mended(frame: AccessibleNode): AccessibleNode {
    const bar = find(frame, 'menu bar')?.box
    const pane = find(frame, 'root pane')
    if (!bar || !pane?.box || pane.box.y !== bar.y || frame.role !== 'frame') return frame
    return { ...frame, children: frame.children.map((child) => lowered(child, pane, bar.height)) }
  }

  async function childrenIn(of: Reference, count: number, depth: number): Promise<readonly AccessibleNode[]> {
    if (count === 0) return []
    const found = await childrenOf(of, count)
    return (await Promise.all(found.map((child) => node(child, depth)))).filter(isThere)
  }

  return {
    role: 'desktop frame',
    name: 'main',
    description: '',
    states: [],
    box: null,
    text: null,
    value: null,
    children: await childrenIn(ROOT, 1, 1),
  }
}

const isThere = (node: AccessibleNode | null): node is AccessibleNode => node !== null

function find(node: AccessibleNode, role: string): AccessibleNode | undefined {
  if (node.role === role) return node
  for (const child of node.children) {
    const found = find(child, role)
    if (found) return found
  }
}

/** Moves the pane's content down by this number of pixels. */
function lowered(node: AccessibleNode, pane: AccessibleNode, by: number, inside = false): AccessibleNode {
  const moves = inside || node === pane
  const box = moves && node.box ? { ...node.box, y: node.box.y + by } : node.box
  return { ...node, box, children: node.children.map((child) => lowered(child, pane, by, moves)) }
}

function referenceOf(value: DbusValue | undefined): Reference[] {
  if (!Array.isArray(value)) return []
  const [bus, path] = value
  return typeof bus === 'string' && typeof path === 'string' && !path.endsWith('/null') ? [[bus, path]] : []
}

function statesOf(words: DbusValue | undefined): readonly string[] {
  if (!Array.isArray(words)) return []
  return STATES.filter((_, bit) => ((Number(words[bit >> 5] ?? 0) >>> (bit & 31)) & 1) === 1)
}

function boxOf(value: DbusValue | undefined): AccessibleNode['box'] {
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'number')) return null
  const [x = 0, y = 0, width = 0, height = 0] = value as readonly number[]
  return width > 0 && height > 0 ? { x, y, width, height } : null
}
