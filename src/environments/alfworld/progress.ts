/**
 * True progress of the steps of an episode, under what the agent can know.
 *
 * The potential V(k) is the expected number of commands from knowledge k to the goal (outlook.ts); without anything missing it is the
 * length of the shortest route. A step's progress is V(k) - E[V(k') | k, command]: what the step was worth when it was taken, with the
 * expectation over what it might have revealed. The best step has 1, a useless one 0, one that must be undone less than 0; looking into
 * a likely receptacle is worth about as much as any other good step, into an unlikely one less, into one seen before nothing.
 */

import { advance, initialState, NOTHING_HAPPENS } from './engine.ts'
import { expectedProgress } from './expert.ts'
import type { Game } from './game.ts'
import { beginKnowledge, observe } from './knowledge.ts'

/** Progress of each command from the game's start; 0 after the goal. null for a game whose goal is none of the six. */
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
