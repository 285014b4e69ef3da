import { advance, initialState, type State } from '../../../src/environments/alfworld/engine.ts'
import { expertChoice } from '../../../src/environments/alfworld/expert.ts'
import { type Game, gameOf } from '../../../src/environments/alfworld/game.ts'
import {
  buildGame,
  draftGame,
  EVEN_SHARES,
  type Shares,
} from '../../../src/environments/alfworld/generator/generate.ts'
import { type Difficulty, type RoomSize, SIZES } from '../../../src/environments/alfworld/generator/size.ts'
import { beginKnowledge, observe } from '../../../src/environments/alfworld/knowledge.ts'
import { rng, seedOf } from '../../../src/random.ts'
import { fixtureTexts } from './games.ts'

/** A generated game. */
export function roomOf(
  seed: number,
  size: Difficulty | RoomSize = 'easy',
  shares: Shares = EVEN_SHARES,
): Game {
  const sized = typeof size === 'string' ? SIZES[size] : size
  return buildGame(draftGame({ seed: seedOf(seed, 'test'), size: sized, shares, pairs: 'all' }))
}

/** So small that a search can look at every state that matters. */
export const TINY: RoomSize = {
  receptacles: [3, 4],
  objects: [3, 3],
  rooms: ['kitchen', 'bedroom'],
  shared: 0.3,
  mostOfAType: 2,
}

export function fixtureGames(): Game[] {
  return [...fixtureTexts()].map(([path, text]) => gameOf(JSON.parse(text), path))
}

/** Plays the expert from the start; the commands and all states. */
export function playExpert(game: Game, maxSteps = 50): { commands: string[]; states: State[] } {
  let state = initialState(game, { maxSteps })
  let knowledge = beginKnowledge(state)
  const states = [state]
  const commands: string[] = []
  while (!state.done) {
    const command = expertChoice(knowledge, state.admissible)
    state = advance(state, command)
    knowledge = observe(knowledge, command, state)
    commands.push(command)
    states.push(state)
  }
  return { commands, states }
}

/** Plays random admissible commands. */
export function wander(game: Game, seed: number, steps: number): { commands: string[]; states: State[] } {
  const random = rng(seedOf(seed, 'wander'))
  const states = [initialState(game)]
  const commands: string[] = []
  for (let i = 0; i < steps; i++) {
    const state = states[states.length - 1]
    if (state.won) break
    const command = random.pick(state.admissible)
    commands.push(command)
    states.push(advance(state, command))
  }
  return { commands, states }
}
