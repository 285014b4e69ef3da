import type { Config } from '../../config.ts'
import { openEnvironment } from '../../environments/open.ts'
import type { Environment, Task } from '../../environments/port.ts'

/** Far from any seed that a person would choose. */
const DEMONSTRATION_SEED = 1_000_000_007

/** What a cold start imitates on: tasks of its own where tasks are generated, else those of the training split. */
export async function demonstrationTasks(
  config: Config,
  environment: Environment,
  count: number,
): Promise<{ readonly environment: Environment; readonly tasks: readonly Task[] }> {
  if (config.environment.source === 'data')
    return { environment, tasks: repeated(await environment.tasks('train'), count) }
  const own = await openEnvironment({
    ...config,
    environment: {
      ...config.environment,
      seed: config.environment.seed + DEMONSTRATION_SEED,
      difficulty: config.policy.coldStart.difficulty ?? config.environment.difficulty,
      tasks: count,
    },
  })
  return { environment: own, tasks: repeated(await own.tasks('train'), count) }
}

/** So many tasks, again from the first where there are fewer. */
const repeated = (tasks: readonly Task[], count: number): Task[] =>
  Array.from({ length: count }, (_, index) => tasks[index % tasks.length])
