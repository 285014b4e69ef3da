/** The engine of household games for programs of others. */
import type { Seed } from '../../random.ts'
import type { State as AlfworldState } from './engine.ts'
import type { Game as AlfworldGame } from './game.ts'

export type { AlfworldGame, AlfworldState }

export type AlfworldEngine = {
  /**
   * Makes a game from the text of a `game.tw-pddl` file.
   *
   * @param name word for messages
   */
  readonly loadGame: (
    text: string,
    name?: string,
    /** `shuffle` numbers the entities of each kind in a random order. */
    options?: { readonly shuffle?: Seed },
  ) => AlfworldGame
  /** Returns the start of an episode. Without `maxSteps` there is no limit. */
  readonly initialState: (game: AlfworldGame, options?: { readonly maxSteps?: number }) => AlfworldState
  /** Returns the next state. A state is a value: an episode can be continued from any of them. */
  readonly step: (state: AlfworldState, command: string) => AlfworldState
  /** Returns commands that win from a state, or the reason why there are none. */
  readonly solve: (
    state: AlfworldState,
  ) => { readonly commands: readonly string[] } | { readonly unsolvable: string }
}

/**
 * Loads the engine. Programs that play no such games do not pay for it.
 *
 * @example
 * const { loadGame, initialState, step } = await alfworldEngine()
 * const first = initialState(loadGame(text), { maxSteps: 50 })
 * const second = step(first, first.admissible[0] ?? 'look')
 */
export async function alfworldEngine(): Promise<AlfworldEngine> {
  const [{ initialState, step }, { loadGame }, { solve }] = await Promise.all([
    import('./engine.ts'),
    import('./game.ts'),
    import('./solver.ts'),
  ])
  return { loadGame, initialState, step, solve }
}
