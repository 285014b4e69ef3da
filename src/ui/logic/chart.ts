/** Places of the states of each machine in its chart, and the lines between them. */
import type { MachineChart } from './answers.ts'

/** Column and row of each state without inner states, by its path. A test holds that no state of a machine is missing. */
export const PLACES: Readonly<
  Record<string, Readonly<Record<string, readonly [column: number, row: number]>>>
> = {
  head: {
    idle: [0, 0],
    'open.preparing': [1, 0],
    'open.betweenIterations': [2, 0],
    'open.iterating.playing': [2, 1],
    'open.iterating.updating': [3, 1],
    'open.paused': [1, 1],
    'open.failed': [2, 2],
    finished: [4, 0],
  },
  environment: {
    idle: [0, 0],
    loading: [1, 0],
    'serving.waiting': [2, 0],
    'serving.playing': [3, 0],
    'serving.settling': [3, 1],
    finished: [4, 0],
  },
  policy: {
    idle: [0, 0],
    coldStarting: [1, 0],
    'serving.waiting': [2, 0],
    'serving.collecting': [3, 0],
    'serving.choosing': [3, 1],
    'serving.training': [2, 1],
    'serving.keeping': [2, 2],
    finished: [4, 0],
  },
  'reward-model': {
    idle: [0, 0],
    awaitingPolicy: [0, 1],
    coldStarting: [1, 0],
    'serving.waiting': [2, 0],
    'serving.judging': [3, 0],
    'serving.choosing': [3, 1],
    'serving.training': [2, 1],
    'serving.keeping': [2, 2],
    finished: [4, 0],
  },
  adapter: {
    idle: [0, 0],
    'serving.watching': [1, 0],
    'serving.weighing': [2, 0],
    'serving.rewriting': [2, 1],
    finished: [3, 0],
  },
}

const [COLUMN, ROW, WIDTH, HEIGHT] = [140, 62, 116, 28]
/** Room around the states of a group, and that for its name. */
const [AROUND, NAME] = [9, 8]

type Box = {
  readonly path: string
  readonly name: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

type Arrow = {
  readonly from: string
  readonly to: string
  /** Events and conditions, a line each. */
  readonly labels: readonly string[]
  readonly x1: number
  readonly y1: number
  readonly x2: number
  readonly y2: number
}

export type Drawing = {
  readonly width: number
  readonly height: number
  readonly states: readonly Box[]
  /** States with inner states, the outer ones first. */
  readonly groups: readonly Box[]
  readonly arrows: readonly Arrow[]
}

/** Returns the drawing of a machine. A state without a place is left out. */
export function drawingOf({
  role,
  states,
  arrows,
}: Pick<MachineChart, 'role' | 'states' | 'arrows'>): Drawing {
  const places = PLACES[role] ?? {}
  const leaves = states.flatMap(({ path }): Box[] => {
    const place = places[path]
    if (!place) return []
    const [column, row] = place
    return [
      { path, name: nameOf(path), x: 14 + column * COLUMN, y: 42 + row * ROW, width: WIDTH, height: HEIGHT },
    ]
  })
  const groups = states.flatMap(({ path }): Box[] => {
    const inner = leaves.filter((leaf) => leaf.path.startsWith(`${path}.`))
    if (inner.length === 0) return []
    const deeper = Math.max(...inner.map((leaf) => leaf.path.split('.').length)) - path.split('.').length
    const around = AROUND * deeper
    const x = Math.min(...inner.map((leaf) => leaf.x)) - around
    const y = Math.min(...inner.map((leaf) => leaf.y)) - around - NAME
    const right = Math.max(...inner.map((leaf) => leaf.x + leaf.width)) + around
    const below = Math.max(...inner.map((leaf) => leaf.y + leaf.height)) + around
    return [{ path, name: nameOf(path), x, y, width: right - x, height: below - y }]
  })
  const boxes = new Map([...groups, ...leaves].map((box) => [box.path, box]))
  return {
    width: Math.max(...[...boxes.values()].map(({ x, width }) => x + width), 0) + 14,
    height: Math.max(...[...boxes.values()].map(({ y, height }) => y + height), 0) + 8,
    states: leaves,
    groups,
    arrows: [...merged(arrows)].flatMap(([key, labels]): Arrow[] => {
      const [from = '', to = ''] = key.split(' ')
      const [start, end] = [boxes.get(from), boxes.get(to)]
      return start && end ? [{ from, to, labels, ...lineBetween(start, end) }] : []
    }),
  }
}

/**
 * Returns whether a state is that of a decider, or holds it. A decider's state is a person's name, e.g.
 * `open.iterating.playing`.
 */
export function isIn(state: string | null, path: string): boolean {
  return state !== null && (state === path || state.startsWith(`${path}.`))
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1)
}

/** Labels of the arrows between the same states. An arrow from a state to itself changes nothing. */
function merged(arrows: MachineChart['arrows']): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const { from, to, on } of arrows) {
    if (from === to) continue
    const key = `${from} ${to}`
    found.set(key, [...(found.get(key) ?? []), on])
  }
  return found
}

/** A line from the edge of a box to that of another. A group's line to an inner state begins at the nearest edge. */
function lineBetween(from: Box, to: Box): Pick<Arrow, 'x1' | 'y1' | 'x2' | 'y2'> {
  if (to.path.startsWith(`${from.path}.`)) {
    const [x, y] = [to.x + to.width * 0.75, to.y + to.height * 0.7]
    const bottom = from.y + from.height
    const inner = { above: to.y - from.y, below: bottom - to.y - to.height, left: to.x - from.x }
    const least = Math.min(...Object.values(inner))
    if (least === inner.left) return { x1: from.x, y1: y, x2: to.x, y2: y }
    return least === inner.below
      ? { x1: x, y1: bottom, x2: x, y2: to.y + to.height }
      : { x1: x, y1: from.y, x2: x, y2: to.y }
  }
  const [a, b] = [centre(from), centre(to)]
  // Two arrows between the same states lie beside one another.
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1
  const aside = { x: (-(b.y - a.y) / length) * 5, y: ((b.x - a.x) / length) * 5 }
  const start = edge(from, a, b)
  const end = edge(to, b, a)
  return { x1: start.x + aside.x, y1: start.y + aside.y, x2: end.x + aside.x, y2: end.y + aside.y }
}

type Point = { readonly x: number; readonly y: number }

function centre({ x, y, width, height }: Box): Point {
  return { x: x + width / 2, y: y + height / 2 }
}

/** Point at which the line from a box's centre leaves it. */
function edge({ width, height }: Box, from: Point, to: Point): Point {
  const [dx, dy] = [to.x - from.x, to.y - from.y]
  const share = Math.min(
    width / 2 / Math.max(1e-9, Math.abs(dx)),
    height / 2 / Math.max(1e-9, Math.abs(dy)),
    1,
  )
  return { x: from.x + dx * share, y: from.y + dy * share }
}
