/** Sources of pages, and the tasks that they make: our own, or those of a folder. */

import type { ScreenSize } from '@rlanything/environment-desktop/screen'
import type { Direction, Seed, Task } from 'rlanything/environments'
import type { Json } from './browser/cdp.ts'
import type { Serve } from './browser/page-requests.ts'

/** Start of a task's episode. */
type Start = {
  /** Address of the page. */
  readonly path: string
  /** Loads the page anew for each task, because its leftovers cannot be cleared otherwise. */
  readonly fresh: boolean
  /** First argument of `__rl.play`. */
  readonly request: Json
}

/** A site's wishes for a browser. */
export type Asked = {
  /** The goals of some recipes, in their order. */
  readonly goals: (recipes: readonly Task['recipe'][]) => Promise<readonly string[]>
  /** Calls a function of `__rl` on a page. */
  readonly call: (path: string, name: string, argument: unknown) => Promise<unknown>
}

/** A task that may become the new one, with the fields that differ. */
export type Variant = Pick<Task, 'id' | 'kind' | 'recipe'>

type Sample = { readonly name: string; readonly variants: readonly Variant[] }

export type Site = {
  /** The part of a page that shows a task, from its upper left corner, in pixels. */
  readonly screen: ScreenSize
  /** Run before a page's own scripts, in this order. */
  readonly scripts: readonly string[]
  readonly serve: Serve
  readonly start: (recipe: Task['recipe']) => Start
  readonly tasks: (split: string, asked: Asked) => Promise<readonly Task[]>
  /** Some tasks of each of its pages. */
  readonly samples: (seeds: number, asked: Asked) => Promise<readonly Sample[]>
  /** Returns changed tasks, likely ones first. None is proven yet. */
  readonly variants: (
    task: Task,
    direction: Direction,
    seed: Seed,
    asked: Asked,
  ) => Promise<readonly Variant[]>
  /** Returns words of its texts, for a small model. If absent, words are taken from episodes. */
  readonly words?: () => readonly string[]
}
