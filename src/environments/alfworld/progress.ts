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
import { beginKnowledge, observe } from './knowledge.ts'

/**
 * Returns the progress of each command from the game's start. It is 0 after the goal. Returns null if the
 * game's goal is none of the six types.
 */
export function progressOf(game: Game, commands: readonly string[]): Float32Array | null {
  let state = initialState(game)
  let knowledge = beginKnowledge(state)
  if (!knowledge.goal) return null
  const progress = new Float32Array(commands.length) // [steps]
  for (const [index, command] of commands.entries()) {
    if (state.won) break
    const next = advance(state, command)
    if (next.observation === NOTHING_HAPPENS) continue
    const saved = expectedProgress(knowledge, command) ?? 0
    progress[index] = Math.abs(saved) < 1e-6 ? 0 : saved
    knowledge = observe(knowledge, command, next)
    state = next
  }
  return progress
}
