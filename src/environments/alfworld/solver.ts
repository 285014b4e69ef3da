/** Proofs and plans: whether a goal can be reached from a state, and the commands that reach it. */
import { advance, initialState, type State } from './engine.ts'
import type { Game } from './game.ts'
import { scoreGoal } from './goals.ts'
import { bestRoute, commandsOfRoute } from './route.ts'
import { searchPlan } from './search.ts'
import { situationOf } from './situation.ts'
import type { World } from './world.ts'

export type Plan = {
  /** Commands that win from the state, exactly with the last one. Empty if it is won already. */
  readonly commands: readonly string[]
  /**
   * `routes`: the shortest plan, by enumeration of routes. `search`: by search, the shortest if the budget
   * was enough.
   */
  readonly by: 'routes' | 'search'
}

/** Returns a plan that wins from the state, checked by playing it, or the reason why there is none. */
export function solve(state: State): Plan | { readonly unsolvable: string } {
  if (state.won) return { commands: [], by: 'routes' }
  const situation = situationOf(state.world)
  const route = situation && bestRoute(situation)
  if (situation && route) {
    const commands = commandsOfRoute(situation, route).map((command) => worded(state.world.game, command))
    if (wins(state, commands)) return { commands, by: 'routes' }
  }
  if (situation && !route) {
    const scored = scoreGoal(state.world, situation.goal)
    return { unsolvable: 'refused' in scored ? scored.refused : 'no order of stops leads there' }
  }
  const found = searchPlan(state)
  return 'commands' in found ? { commands: found.commands, by: 'search' } : { unsolvable: found.reason }
}

/** A plan for a game from its start. */
export function solveGame(game: Game): ReturnType<typeof solve> {
  return solve(initialState(game))
}

/**
 * Returns the length of the shortest plan from a world, without playing it. Returns null if no route leads to
 * the goal. It does not search, because labels of many steps are made from it.
 */
export function remainingCommands(world: World): number | null {
  const situation = situationOf(world)
  return (situation && bestRoute(situation)?.cost) ?? null
}

/** The command as this game's release words it: up to 2.1.1 `put X in/on Y` for `move X to Y`. */
function worded(game: Game, command: string): string {
  if (!usesPut(game)) return command
  return command.replace(/^move (.+) to (.+)$/, 'put $1 in/on $2')
}

/** Whether the game's release says `put X in/on Y`. */
function usesPut({ file }: Game): boolean {
  return file.grammar.includes('put {o} in/on {r}')
}

function wins(state: State, commands: readonly string[]): boolean {
  let now: State = { ...state, done: false, maxSteps: Number.POSITIVE_INFINITY }
  for (const [index, command] of commands.entries()) {
    if (now.won || !now.admissible.includes(command)) return false
    now = advance(now, command)
    if (now.won) return index === commands.length - 1
  }
  return now.won
}
