import type { Game } from './game.ts'
import { strip } from './strip.ts'
import { applyMove, commandsOf, initialWorld, isGoal, moveFor, renderText, type World } from './world.ts'

export const NOTHING_HAPPENS = 'Nothing happens.'

/**
 * A moment of an episode. It is a value: `step` returns the next one, so an episode can be continued from any
 * step.
 */
export type State = {
  readonly world: World
  /** Text for the player: the introduction, or the answer to the last command. */
  readonly observation: string
  /** Commands that change something here, sorted by code point. */
  readonly admissible: readonly string[]
  readonly won: boolean
  /** 1 if the goal holds now, else 0. It can fall again. */
  readonly score: 0 | 1
  /** Whether the game is won or at the step limit. */
  readonly done: boolean
  /** Number of commands so far. It includes commands without effect. */
  readonly steps: number
  /** Number of commands with an effect. */
  readonly moves: number
  readonly maxSteps: number
}

/** Returns the start of an episode. ALFWorld's own step limit is 50. Without one there is no limit. */
export function initialState(
  game: Game,
  { maxSteps = Number.POSITIVE_INFINITY }: { readonly maxSteps?: number } = {},
): State {
  const world = initialWorld(game)
  return stateOf(world, renderText(world, game.intro, []), { steps: 0, moves: 0, maxSteps })
}

/**
 * Returns the next state. After the end every command returns the same state, as in ALFWorld's batch
 * environment.
 */
export function step(state: State, command: string): State {
  return state.done ? state : advance(state, command)
}

/** Like `step`, but goes on after the end, as the bare engine does. So the goal can be lost again. */
export function advance(state: State, command: string): State {
  const { world, moves, maxSteps } = state
  const steps = state.steps + 1
  const move = moveFor(world, strip(command))
  if (!move) {
    const done = state.won || steps >= maxSteps
    return { ...state, observation: NOTHING_HAPPENS, steps, done }
  }
  const next = applyMove(world, move)
  const observation = renderText(next, move.action.feedback, move.args)
  return stateOf(next, observation, { steps, moves: moves + 1, maxSteps })
}

function stateOf(
  world: World,
  observation: string,
  { steps, moves, maxSteps }: Pick<State, 'steps' | 'moves' | 'maxSteps'>,
): State {
  const won = isGoal(world)
  return {
    world,
    observation,
    admissible: commandsOf(world),
    won,
    score: won ? 1 : 0,
    done: won || steps >= maxSteps,
    steps,
    moves,
    maxSteps,
  }
}
