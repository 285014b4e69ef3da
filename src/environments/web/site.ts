/** Where pages come from, and which tasks they make: our own, or those of a folder. */
import type { Seed } from '../../random.ts'
import type { Direction, Task } from '../port.ts'
import type { ScreenSize } from '../screen/action.ts'
import type { Json } from './browser/cdp.ts'
import type { Serve } from './browser/page.ts'

/** How an episode of a task begins. */
type Start = {
  /** Address of the page. */
  readonly path: string
  /** Whether the page is loaded anew for it: what some pages leave behind cannot be cleared otherwise. */
  readonly fresh: boolean
  /** What `__rl.play` gets to begin with. */
  readonly request: Json
}

/** What a site asks of a browser. */
export type Asked = {
  /** The goals of some recipes, in their order. */
  readonly goals: (recipes: readonly Task['recipe'][]) => Promise<readonly string[]>
  /** Calls a function of `__rl` on a page. */
  readonly call: (path: string, name: string, argument: unknown) => Promise<unknown>
}

/** A task that may become one, and in what it differs. */
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
  /** Changed tasks, likely ones first; none of them is proven. */
  readonly variants: (
    task: Task,
    direction: Direction,
    seed: Seed,
    asked: Asked,
  ) => Promise<readonly Variant[]>
  /** Words of its texts, for a small model; absent: they are read off episodes. */
  readonly words?: () => readonly string[]
}
