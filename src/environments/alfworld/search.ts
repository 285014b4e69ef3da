/** Breadth-first search for a plan, for goals that are none of the six types. */
import type { State } from './engine.ts'
import { applyMove, isGoal, movesOf, type World } from './world.ts'

export type SearchResult = { readonly commands: readonly string[] } | { readonly reason: string }

/** Facts that only record what the player looked at. No precondition or goal of the domain reads them. */
const NOTES = new Set(['checked', 'examined', 'ison', 'wasinreceptacle'])

/**
 * Returns the shortest plan, or the reason why none was found. @param most number of worlds after which the
 * search gives up
 */
export function searchPlan(state: State, most = 20_000): SearchResult {
  const { predicates } = state.world.game.tables
  const read = [...predicates].flatMap(([name, number]) => (NOTES.has(name) ? [] : [number]))
  const keyOf = ({ facts }: World) => {
    const changed = read.filter((number) => facts[number] !== state.world.facts[number])
    return changed.map((number) => `${number}:${facts[number]!.join()}`).join(';')
  }
  type Node = { readonly world: World; readonly command: string; readonly from: Node | null }
  const start: Node = { world: state.world, command: '', from: null }
  const queue: Node[] = [start]
  const seen = new Set([keyOf(state.world)])
  for (const node of queue) {
    for (const move of movesOf(node.world)) {
      const world = applyMove(node.world, move)
      const key = keyOf(world)
      if (seen.has(key)) continue
      if (isGoal(world)) {
        const commands = [move.command]
        for (let at: Node | null = node; at?.from; at = at.from) commands.unshift(at.command)
        return { commands }
      }
      if (seen.size >= most) return { reason: `no plan among the first ${most} situations` }
      seen.add(key)
      queue.push({ world, command: move.command, from: node })
    }
  }
  return { reason: `none of the ${seen.size} situations that can be reached has the goal` }
}
