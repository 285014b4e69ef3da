/** Names of slots and rollouts. The names sort as the things do, so sorted lists of them are canonical. */

/** The slot of a split's task, e.g. `train-00012`. */
export function slotName(split: string, index: number): string {
  return `${split}-${String(index).padStart(5, '0')}`
}

/**
 * The slot of a task that was accepted in an iteration and is played beside its parent.
 * @example addedSlotName('train-00012', 3) // 'train-00012+3'
 */
export function addedSlotName(parent: string, iteration: number): string {
  return `${parent}+${iteration}`
}

/** Returns the slot that an added slot came from in the end, or the slot itself. */
export function firstSlotOf(slot: string): string {
  return slot.split('+', 1)[0] ?? slot
}

/** Unique in a run, e.g. `3/train-00012/5`: a slot plays one group in an iteration. */
export function rolloutName(iteration: number, slot: string, index: number): string {
  return `${iteration}/${slot}/${index}`
}

/**
 * Returns what a name was made of.
 * @example placeOfRollout('3/train-00012/5') // { iteration: 3, slot: 'train-00012', index: 5 }
 */
export function placeOfRollout(name: string): {
  readonly iteration: number
  readonly slot: string
  readonly index: number
} {
  const [iteration = '', slot = '', index = ''] = name.split('/')
  return { iteration: Number(iteration), slot, index: Number(index) }
}

/** Plain code-unit order: the same on every machine, unlike a locale's. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
