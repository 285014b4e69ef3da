/** Demonstrations for a cold start: the expert's episodes, with a stated share of random commands. */
import { rng, type Seed } from '../../random.ts'
import { initialState, step } from './engine.ts'
import { expectedProgress, expertChoice } from './expert.ts'
import type { Game } from './game.ts'
import { beginKnowledge, observe } from './knowledge.ts'
import { usefulCommands } from './views/compact.ts'
import type { History } from './views/history.ts'

export type DemonstrationOptions = {
  readonly seed: Seed
  /** Probability that a step takes a random command in place of the expert's, in [0, 1]. */
  readonly epsilon: number
  readonly maxSteps: number
  /** Draw random commands from all admissible ones, not only from those that can bring a goal nearer. Default false. */
  readonly all?: boolean
}

export type Demonstration = {
  readonly history: History
  readonly outcome: 0 | 1
  /** True progress of each step (progress.ts). [steps] */
  readonly progress: Float32Array
}

/** One episode. Failures are demonstrations too: a policy learns from them what the commands do. */
export function demonstrate(
  game: Game,
  { seed, epsilon, maxSteps, all = false }: DemonstrationOptions,
): Demonstration {
  const random = rng(seed)
  let state = initialState(game, { maxSteps })
  let knowledge = beginKnowledge(state)
  const first = { observation: state.observation, admissible: state.admissible }
  const steps: History['steps'][number][] = []
  const progress: number[] = []
  while (!state.done) {
    const { admissible } = state
    const command =
      random.uniform() < epsilon
        ? random.pick(all ? admissible : usefulCommands(admissible))
        : expertChoice(knowledge, admissible)
    progress.push(expectedProgress(knowledge, command) ?? 0)
    state = step(state, command)
    knowledge = observe(knowledge, command, state)
    steps.push({ command, after: { observation: state.observation, admissible: state.admissible } })
  }
  return { history: { first, steps }, outcome: state.score, progress: Float32Array.from(progress) }
}
