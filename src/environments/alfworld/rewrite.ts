/** New goals for a game. */
import type { Rewrite, RewriteRequest } from '../port.ts'
import { initialState } from './engine.ts'
import { type Game, gameOf } from './game.ts'
import type { GameFile } from './game-file.ts'
import { solve } from './solver.ts'
import { type Goal, withGoal, withSentence } from './tasks.ts'

/** The file of the game with another goal: problem, sentence and walkthrough. */
export function candidateGame(game: Game, goal: Goal, sentence: string): GameFile {
  const file: GameFile = {
    ...game.file,
    pddl_problem: withGoal(game.file.pddl_problem, goal),
    grammar: withSentence(game.file.grammar, sentence),
    walkthrough: null,
  }
  const plan = solve(initialState(gameOf(file, game.name)))
  return { ...file, walkthrough: 'commands' in plan ? plan.commands : null }
}

export function rewriteGoal(_game: Game, _request: RewriteRequest): Rewrite {
  return { refused: 'no candidate' }
}
