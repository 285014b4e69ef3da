/** The tasks of a split. A run without any is refused at once. */
import { RlError } from '../errors.ts'
import type { Environment, Task } from './port.ts'

/**
 * Returns the tasks of a split, at least one.
 *
 * @param source the environment's name of the split
 * @throws RlError `environment.empty-split`
 */
export async function tasksOf(
  environment: Environment,
  split: string,
  source: string,
): Promise<readonly Task[]> {
  const tasks = await environment.tasks(source)
  if (tasks.length > 0) return tasks
  throw new RlError(`the split '${split}' (the environment's '${source}') has no tasks`, {
    code: 'environment.empty-split',
    hint: 'check environment.data and environment.splits',
  })
}
