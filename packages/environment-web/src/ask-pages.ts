/** Answers what a site asks of a browser: the goals of tasks, and functions of its pages. */
import { itemAt } from 'rlanything/kit'
import type { Player } from './player.ts'
import { readGoals } from './reading.ts'
import type { Asked, Site } from './site.ts'

/** Goals that are asked for at once. */
const GOALS = 200

/** Tasks on one page, with their places in the answer. */
type Group = {
  readonly path: string
  readonly fresh: boolean
  readonly asked: { readonly i: number; readonly request: ReturnType<Site['start']>['request'] }[]
}

export function askPages({ onPage }: Player, start: Site['start'], deadlineMs: number): Asked {
  return {
    async goals(recipes) {
      const goals: string[] = new Array(recipes.length)
      const byPath = new Map<string, Group>()
      for (const [i, recipe] of recipes.entries()) {
        const { path, fresh, request } = start(recipe)
        // Those that are loaded anew each time are asked for one by one.
        const key = fresh ? `${path}#${i}` : path
        const group = byPath.get(key) ?? { path, fresh, asked: [] }
        group.asked.push({ i, request })
        byPath.set(key, group)
      }
      const groups = [...byPath.values()].flatMap(({ path, fresh, asked }) =>
        Array.from({ length: Math.ceil(asked.length / GOALS) }, (_, k) => ({
          path,
          fresh,
          asked: asked.slice(k * GOALS, (k + 1) * GOALS),
        })),
      )
      await Promise.all(
        groups.map(async ({ path, fresh, asked }) => {
          const requests = asked.map(({ request }) => request)
          const told = readGoals(
            await onPage(path, fresh, (page) => page.call('goals', requests, deadlineMs)),
          )
          for (const [k, { i }] of asked.entries()) goals[i] = itemAt(told, k)
        }),
      )
      return goals
    },
    call: (path, name, argument) => onPage(path, false, (page) => page.call(name, argument, deadlineMs)),
  }
}
