/** Answers what a site asks of a browser: the goals of tasks, and functions of its pages. */
import type { Player } from './player.ts'
import { readGoals } from './reading.ts'
import type { Asked, Site } from './site.ts'

/** Goals that are asked for at once. */
const GOALS = 200

export function askPages({ onPage }: Player, start: Site['start'], deadlineMs: number): Asked {
  return {
    async goals(recipes) {
      const goals: string[] = new Array(recipes.length)
      const starts = recipes.map((recipe) => start(recipe))
      const byPath = new Map<string, number[]>()
      for (const [i, { path, fresh }] of starts.entries()) {
        // Those that are loaded anew each time are asked for one by one.
        const key = fresh ? `${path}#${i}` : path
        byPath.set(key, [...(byPath.get(key) ?? []), i])
      }
      const groups = [...byPath.values()].flatMap((all) =>
        Array.from({ length: Math.ceil(all.length / GOALS) }, (_, k) =>
          all.slice(k * GOALS, (k + 1) * GOALS),
        ),
      )
      await Promise.all(
        groups.map(async (group) => {
          const { path, fresh } = starts[group[0]]
          const asked = group.map((i) => starts[i].request)
          const told = readGoals(await onPage(path, fresh, (page) => page.call('goals', asked, deadlineMs)))
          for (const [k, i] of group.entries()) goals[i] = told[k]
        }),
      )
      return goals
    },
    call: (path, name, argument) => onPage(path, false, (page) => page.call(name, argument, deadlineMs)),
  }
}
