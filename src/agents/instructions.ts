/** `rl train --learn instructions`: the endpoint, the budget of calls, and the number of iterations. */
import { join } from 'node:path'
import { RlError } from '../errors.ts'
import { PACKAGE_ROOT } from '../package.ts'
import { setWords } from './set-words.ts'
import type { AgentTasks } from './tasks.ts'

export type InstructionOptions = {
  /** Base URL of the model's endpoint. */
  readonly baseUrl: string
  /** Name of the model that proposes changes. The model itself if absent. */
  readonly proposer?: string
  /** Calls of the endpoint in the whole run, measurements and proposals included. */
  readonly budgetCalls: number
  /** Most iterations. As many as the budget allows if absent. */
  readonly iterations?: number
}

/** The head's config. */
export const INSTRUCTIONS_CONFIG = join(PACKAGE_ROOT, 'config/instructions.yaml')
/** As config/instructions.yaml says. */
const MOST_TASKS = 32
const ROLLOUTS = 2

/** Returns words for the head, after those of every training. */
export function instructionWords(
  { baseUrl, proposer, budgetCalls, iterations: most }: InstructionOptions,
  { train }: AgentTasks,
): readonly string[] {
  const tasks = Math.min(MOST_TASKS, train.length)
  const affordable = Math.floor(budgetCalls / (tasks * ROLLOUTS))
  const iterations = Math.min(affordable, most ?? affordable)
  if (affordable < 2)
    throw new RlError(`--budget-calls ${budgetCalls} are too few for ${tasks} tasks`, {
      code: 'cli.usage',
      hint: `an iteration alone makes ${tasks * ROLLOUTS} calls or more`,
    })
  return setWords({
    'environment.tasksPerIteration': tasks,
    'policy.baseUrl': baseUrl,
    'policy.expert.maxCalls': budgetCalls,
    'run.iterations': iterations,
    'run.evaluateEvery': iterations,
    ...(proposer === undefined ? {} : { 'policy.instructions.proposer': proposer }),
  })
}
