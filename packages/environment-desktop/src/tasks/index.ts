/** Our own tasks: kinds over seven programs. Each kind has any number of tasks. */

import { rng, seedOf } from 'rlanything/environments'
import { itemAt } from 'rlanything/kit'
import { CHROMIUM } from './chromium.ts'
import { GALCULATOR } from './galculator.ts'
import { LIBREOFFICE } from './libreoffice.ts'
import { MOUSEPAD } from './mousepad.ts'
import { PCMANFM } from './pcmanfm.ts'
import { type DesktopTask, type TaskKind, taskOf } from './task.ts'
import { XTERM } from './xterm.ts'

export const KINDS: readonly TaskKind[] = [
  ...MOUSEPAD,
  ...GALCULATOR,
  ...PCMANFM,
  ...XTERM,
  ...CHROMIUM,
  ...LIBREOFFICE,
]

/** Kinds that are never trained on. */
const HELD_OUT = [
  'mousepad-double',
  'galculator-difference',
  'pcmanfm-move',
  'xterm-link',
  'chromium-boxes',
  'calc-largest',
  'writer-prepend',
]

export type OwnTask = DesktopTask & { readonly kind: string }

/** A task by its kind and number. */
export function ownTask(kind: TaskKind, seed: number, split: string, number: number): OwnTask {
  const id = `${kind.kind}-${split}-${number}`
  return { kind: kind.kind, ...taskOf(kind, id, rng(seedOf(seed, 'desktop', id))) }
}

/**
 * Returns this number of tasks of kinds that the programs can do, with the kinds in turn. The kinds of `ood`
 * are in no other split.
 */
export function ownTasks(
  split: string,
  {
    seed,
    count,
    programs,
  }: { readonly seed: number; readonly count: number; readonly programs: readonly string[] },
): readonly OwnTask[] {
  const kinds = KINDS.filter(
    (one) =>
      HELD_OUT.includes(one.kind) === (split === 'ood') &&
      one.programs.every((name) => programs.includes(name)),
  )
  if (kinds.length === 0) return []
  return Array.from({ length: count }, (_, i) =>
    ownTask(itemAt(kinds, i % kinds.length), seed, split, Math.floor(i / kinds.length)),
  )
}
