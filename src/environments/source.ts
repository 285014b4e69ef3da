/** Numbers of tasks that the config's section `environment` asks for. */
import type { Config } from '../config-schema/schema.ts'

/** Number of tasks of an evaluation split if the config wants all. Generators can make any number. */
const GENERATED_EVALUATION_TASKS = 256

/**
 * Returns the number of tasks that a generator makes for each split.
 *
 * @example const { train } = generatedCounts(config) // 1000 if environment.tasks is null
 */
export function generatedCounts({ environment, evaluation }: Pick<Config, 'environment' | 'evaluation'>): {
  readonly train: number
  readonly 'in-domain': number
  readonly ood: number
} {
  const evaluated = evaluation.tasks ?? GENERATED_EVALUATION_TASKS
  return { train: environment.tasks ?? 1000, 'in-domain': evaluated, ood: evaluated }
}

/**
 * Returns the most tasks by the environment's split names. A split that is not in the result has no limit.
 *
 * @example const limit = folderCounts(config)['valid_seen'] ?? Number.POSITIVE_INFINITY
 */
export function folderCounts({
  environment,
  evaluation,
}: Pick<Config, 'environment' | 'evaluation'>): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(environment.splits).flatMap(([split, source]) => {
      const limit = split === 'train' ? environment.tasks : evaluation.tasks
      return limit === null ? [] : [[source, limit]]
    }),
  )
}
