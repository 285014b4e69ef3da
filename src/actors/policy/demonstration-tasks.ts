import type { Config } from '../../config.ts'
import { openSetting } from '../../environments/open.ts'
import type { Task } from '../../environments/port.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import { tasksOf } from '../../environments/split-tasks.ts'
import { itemAt } from '../../item-at.ts'

/** Far from any seed that a person would choose. */
const DEMONSTRATION_SEED = 1_000_000_007

/**
 * Uses the tasks that a cold start imitates. If tasks are generated, they are tasks of its own, else those of the
 * training split. Everything opened for them is closed afterwards: else browsers or sandboxes would stay for the whole
 * run.
 */
export async function withDemonstrationTasks<T>(
  config: Config,
  opened: OpenSetting,
  count: number,
  use: (demonstrated: OpenSetting & { readonly tasks: readonly Task[] }) => Promise<T>,
): Promise<T> {
  if (config.environment.source === 'data')
    return use({ ...opened, tasks: repeated(await tasksOf(opened.environment, 'train', 'train'), count) })
  const own = await openSetting({
    ...config,
    environment: {
      ...config.environment,
      seed: config.environment.seed + DEMONSTRATION_SEED,
      difficulty: config.policy.coldStart.expert.difficulty ?? config.environment.difficulty,
      tasks: count,
    },
  })
  try {
    return await use({ ...own, tasks: repeated(await tasksOf(own.environment, 'train', 'train'), count) })
  } finally {
    await own.environment.close?.()
  }
}

/** Returns `count` tasks, again from the first if there are fewer. */
const repeated = (tasks: readonly Task[], count: number): Task[] =>
  Array.from({ length: count }, (_, index) => itemAt(tasks, index % tasks.length))
