import type { Config } from '../config.ts'
import { RlError } from '../errors.ts'
import type { Environment } from './port.ts'

/** Tasks of an evaluation split where the config wants all that there are: generated ones have no end. */
const GENERATED_EVALUATION_TASKS = 256

/** Games kept ready: some 100 kB each. */
const CACHED_GAMES = 1024

/** Tasks by the environment's split names; a split that is not named here has all its games. */
function folderCounts({ environment, evaluation }: Pick<Config, 'environment' | 'evaluation'>) {
  return Object.fromEntries(
    Object.entries(environment.splits).flatMap(([split, source]) => {
      const limit = split === 'train' ? environment.tasks : evaluation.tasks
      return limit === null ? [] : [[source, limit]]
    }),
  )
}

/** The environment that a config names. */
export async function openEnvironment({ environment, evaluation }: Config): Promise<Environment> {
  switch (environment.name) {
    case 'alfworld': {
      const { alfworldEnvironment } = await import('./alfworld/environment.ts')
      if (environment.source === 'data')
        return alfworldEnvironment({
          source: {
            kind: 'folder',
            path: environment.data ?? '',
            counts: folderCounts({ environment, evaluation }),
          },
          cachedGames: CACHED_GAMES,
        })
      const evaluated = evaluation.tasks ?? GENERATED_EVALUATION_TASKS
      return alfworldEnvironment({
        source: {
          kind: 'generated',
          seed: environment.seed,
          counts: { train: environment.tasks ?? 1000, 'in-domain': evaluated, ood: evaluated },
          size: environment.difficulty,
        },
        cachedGames: CACHED_GAMES,
      })
    }
    case 'coding': {
      const { codingEnvironment } = await import('./coding/environment.ts')
      if (environment.source === 'data')
        return codingEnvironment({ source: { kind: 'files', paths: [environment.data ?? ''] } })
      const evaluated = evaluation.tasks ?? GENERATED_EVALUATION_TASKS
      return codingEnvironment({
        source: {
          kind: 'generated',
          seed: environment.seed,
          counts: { train: environment.tasks ?? 1000, 'in-domain': evaluated, ood: evaluated },
          maxLevel: { easy: 2, medium: 4, hard: 9 }[environment.difficulty],
        },
      })
    }
    case 'agents': {
      const { agentsEnvironment } = await import('./agents.ts')
      return agentsEnvironment(environment.data ?? '')
    }
    default:
      throw new RlError(`the environment '${environment.name}' cannot be opened here`, {
        code: 'environment.unknown',
        hint: 'environment.name is alfworld, coding, agents or simulated',
      })
  }
}
