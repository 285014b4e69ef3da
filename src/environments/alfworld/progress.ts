/** True progress of the steps of an episode. */
import { advance, initialState } from './engine.ts'
import type { Game } from './game.ts'
import { remainingCommands } from './solver.ts'

/** Provisional: full-information progress. */
export function progressOf(game: Game, commands: readonly string[]): Float32Array | null {
  let state = initialState(game)
  let before: number | null = remainingCommands(state.world)
  if (before === null) return null
  const progress = new Float32Array(commands.length)
  for (const [index, command] of commands.entries()) {
    if (state.won) break
    state = advance(state, command)
    const after: number = remainingCommands(state.world) ?? before ?? 0
    progress[index] = (before ?? 0) - after
    before = after
  }
  return progress
}
