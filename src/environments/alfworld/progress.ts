/**
 * True progress of the steps of an episode, from what the agent can know.
 *
 * The potential V(k) is the expected number of commands from knowledge k to the goal (outlook.ts). If nothing
 * is missing, it is the length of the shortest route. A step's progress is V(k) - E[V(k') | k, command]. The
 * expectation is over what the step might have revealed, so it is the step's worth at its time. The best step
 * has 1, a useless one 0. A step that must be undone has less than 0. A look into a likely receptacle is
 * worth about as much as any other good step. A look into an unlikely one is worth less, and a repeated look
 * nothing.
 */

import { advance, initialState, NOTHING_HAPPENS } from './engine.ts'
import { expectedProgress } from './expert.ts'
import type { Game } from './game.ts'
import { beginKnowledge, type Knowledge, observe } from './knowledge.ts'
import { outlook } from './outlook.ts'
import { goalOf } from './situation.ts'
import { remainingCommands } from './solver.ts'

/**
 * Returns the progress of each command from the game's start. It is 0 after the goal. Returns null if the
 * game's goal is none of the six types.
 */
export function progressOf(game: Game, commands: readonly string[]): Float32Array | null {
  return worthOf(game, commands, (before, command) => expectedProgress(before, command) ?? 0)
}

/**
 * Returns by how much V really fell with each command, V(k) - V(k'), luck included: a look that finds the object is worth what it
 * saves. It is 0 after the goal. Returns null if the game's goal is none of the six types.
 */
export function fallsOf(game: Game, commands: readonly string[]): Float32Array | null {
  return worthOf(game, commands, (before, _, after) => left(before) - left(after))
}

/**
 * Returns by how much each command shortened the best plan from the true state, hidden objects known. It is 0 after the goal. Returns
 * null if the game's goal is none of the six types, or no plan leads to it.
 */
export function shortenedBy(game: Game, commands: readonly string[]): Float32Array | null {
  let state = initialState(game)
  let left = remainingCommands(state.world)
  if (left === null) return null
  const shortened = new Float32Array(commands.length) // [steps]
  for (const [index, command] of commands.entries()) {
    if (state.won) break
    state = advance(state, command)
    const now: number = state.won ? 0 : (remainingCommands(state.world) ?? left)
    shortened[index] = left - now
    left = now
  }
  return shortened
}

/**
 * Returns V, [commands + 1]: before each command and after the last. Returns null if the game's goal is none of the six types.
 */
export function remainingOf(game: Game, commands: readonly string[]): Float32Array | null {
  let state = initialState(game)
  let knowledge = beginKnowledge(state, goalOf(game))
  if (!knowledge.goal) return null
  const remaining = new Float32Array(commands.length + 1) // [commands + 1]
  remaining[0] = left(knowledge)
  for (const [index, command] of commands.entries()) {
    if (state.won) break
    const next = advance(state, command)
    const isIdle = next.observation === NOTHING_HAPPENS
    if (!isIdle) {
      knowledge = observe(knowledge, command, next)
      state = next
    }
    remaining[index + 1] = isIdle ? remaining[index]! : left(knowledge)
  }
  return remaining
}

function left(knowledge: Knowledge): number {
  return outlook(knowledge)?.remaining ?? 0
}

/** Plays commands from the game's start and gives each its worth. A command without effect has none. */
function worthOf(
  game: Game,
  commands: readonly string[],
  worth: (before: Knowledge, command: string, after: Knowledge) => number,
): Float32Array | null {
  let state = initialState(game)
  let knowledge = beginKnowledge(state, goalOf(game))
  if (!knowledge.goal) return null
  const worths = new Float32Array(commands.length) // [steps]
  for (const [index, command] of commands.entries()) {
    if (state.won) break
    const next = advance(state, command)
    if (next.observation === NOTHING_HAPPENS) continue
    const after = observe(knowledge, command, next)
    const saved = worth(knowledge, command, after)
    worths[index] = Math.abs(saved) < 1e-6 ? 0 : saved
    knowledge = after
    state = next
  }
  return worths
}
