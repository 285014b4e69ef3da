/** Meanings of a few typed letters: a position, a rollout, a task, a version, a screen, or a run. */
import { pathOf, pathOfRollout } from './route.ts'

export type Suggestion = {
  readonly name: string
  readonly href: string
}

export type PaletteContext = {
  /** The shown run, or null. */
  readonly run: string | null
  /** Path that is shown now. */
  readonly path: string
  /** Last position of the log. */
  readonly position: number
  readonly runs: readonly string[]
}

const SCREENS: readonly (readonly [name: string, part: string])[] = [
  ['overview', ''],
  ['iterations', 'i'],
  ['tasks', 'tasks'],
  ['versions', 'versions'],
  ['judge', 'judge'],
  ['actors', 'actors'],
  ['projections', 'projections'],
  ['events', 'events'],
]

const MOST = 12

const ROLLOUT = /^(\d{1,7})\/([\w.:-]{1,80})\/(\d{1,5})(?:#(\d{1,5}))?$/
const GROUP = /^(\d{1,7})\/([\w.:-]*[a-z][\w.:-]*)$/i
const VERSION = /^(policy|reward-model|judge)[ /](\d{1,7})$/
const ITERATION = /^(?:i|it|iteration) ?(\d{1,7})$/
const SLOT = /^(?:task )?([a-z][\w.]*-[\w.-]*\d)$/i

/**
 * Returns the places that a text may mean, the likeliest first.
 * @example suggestionsOf('3/train-00012/5', context)[0].href // '/r/run-1/t/3/train-00012/5'
 */
export function suggestionsOf(typed: string, { run, path, position, runs }: PaletteContext): Suggestion[] {
  const text = typed.trim()
  const low = text.toLowerCase()
  const found: Suggestion[] = []
  const add = (name: string, href: string) => found.push({ name, href })
  if (run !== null) {
    const rollout = ROLLOUT.exec(text)
    if (rollout) {
      const [, iteration, slot, index, step] = rollout
      const name = `${iteration}/${slot}/${index}`
      add(
        step === undefined ? `rollout ${name}` : `rollout ${name}, step ${step}`,
        `${pathOfRollout(run, name)}${step === undefined ? '' : `?step=${step}`}`,
      )
    }
    const [, inIteration, ofSlot] = GROUP.exec(text) ?? []
    if (inIteration !== undefined && ofSlot !== undefined && !VERSION.test(low)) {
      add(`group ${ofSlot} in iteration ${inIteration}`, pathOf(run, 'g', inIteration, ofSlot))
      add(`programs by tests of ${text}`, pathOf(run, 'problems', inIteration, ofSlot))
    }
    const [, model, version] = VERSION.exec(low) ?? []
    if (model !== undefined && version !== undefined) {
      const role = model === 'judge' ? 'reward-model' : model
      add(`version ${version} of ${role}`, pathOf(run, 'versions', role, version))
    }
    const [, iteration] = ITERATION.exec(low) ?? []
    if (iteration !== undefined) add(`iteration ${iteration}`, pathOf(run, 'i', iteration))
    const number = /^@?[\d,]{1,15}$/.test(text) ? Number(text.replace(/[@,]/g, '')) : Number.NaN
    if (Number.isSafeInteger(number)) {
      if (number >= 1 && number <= position) {
        add(`this page at position ${number}`, `${path}?at=${number}`)
        add(`event ${number}`, `${pathOf(run, 'events')}?sel=${number}`)
      }
      add(`iteration ${number}`, pathOf(run, 'i', number))
    }
    const [, slot] = SLOT.exec(text) ?? []
    if (slot !== undefined) add(`task ${slot}`, pathOf(run, 'tasks', slot))
    for (const [name, part] of SCREENS)
      if (name.includes(low)) add(name, part === '' ? pathOf(run) : pathOf(run, part))
  }
  if ('runs'.includes(low)) add('all runs', '/')
  for (const name of runs)
    if (name !== run && low !== '' && name.toLowerCase().includes(low)) add(`run ${name}`, pathOf(name))
  if (run !== null && text.length > 2 && found.length === 0)
    add(`events with “${text}”`, `${pathOf(run, 'events')}?q=${encodeURIComponent(text)}`)
  return found.slice(0, MOST)
}
