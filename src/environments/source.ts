/** What every setting is told of its tasks by the config's section `environment`. */
import type { Config } from '../config/schema.ts'

/** Tasks of an evaluation split where the config wants all that there are: generated ones have no end. */
const GENERATED_EVALUATION_TASKS = 256

/** How many tasks a generator makes. */
export function generatedCounts({ environment, evaluation }: Pick<Config, 'environment' | 'evaluation'>): {
  readonly train: number
  readonly 'in-domain': number
  readonly ood: number
} {
  const evaluated = evaluation.tasks ?? GENERATED_EVALUATION_TASKS
  return { train: environment.tasks ?? 1000, 'in-domain': evaluated, ood: evaluated }
}

/** Most tasks by the environment's split names; a split that is not named here has all that there are. */
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
