/** The size of a generated room, and the types from which it draws. */
import type { Room } from './tables.ts'

export type Range = readonly [least: number, most: number]

/** Plain data: it travels in task recipes. */
export type RoomSize = {
  readonly receptacles: Range
  /** Objects in the room, the goal's own included. */
  readonly objects: Range
  readonly rooms: readonly Room[]
  /** Types of objects to draw. If absent, every type of the room. */
  readonly objectTypes?: readonly string[]
  /** Share of receptacles at the same place as the previous receptacle. */
  readonly shared: number
  /** Most receptacles of one type. */
  readonly mostOfAType: number
}

export const DIFFICULTIES = ['easy', 'medium', 'hard'] as const
export type Difficulty = (typeof DIFFICULTIES)[number]

const FEW_TYPES = [
  'Apple',
  'Egg',
  'Potato',
  'Tomato',
  'Mug',
  'Plate',
  'Knife',
  'Spoon',
  'Book',
  'Pen',
  'Pencil',
  'CD',
  'CellPhone',
  'AlarmClock',
  'Pillow',
]

/** easy: two room kinds, 15 object types, 5-9 receptacles. hard: the size of real scenes. */
export const SIZES: Readonly<Record<Difficulty, RoomSize>> = {
  easy: {
    receptacles: [5, 9],
    objects: [6, 8],
    rooms: ['kitchen', 'bedroom'],
    objectTypes: FEW_TYPES,
    shared: 0,
    mostOfAType: 3,
  },
  medium: {
    receptacles: [10, 16],
    objects: [12, 20],
    rooms: ['kitchen', 'living', 'bedroom', 'bathroom'],
    shared: 0.1,
    mostOfAType: 6,
  },
  hard: {
    receptacles: [18, 34],
    objects: [24, 45],
    rooms: ['kitchen', 'living', 'bedroom', 'bathroom'],
    shared: 0.2,
    mostOfAType: 20,
  },
}

/** The same kind of room, `factor` times as large: for tests out of the training distribution. */
export function larger(size: RoomSize, factor: number): RoomSize {
  const grow = ([least, most]: Range): Range => [Math.round(least * factor), Math.round(most * factor)]
  return { ...size, receptacles: grow(size.receptacles), objects: grow(size.objects) }
}
