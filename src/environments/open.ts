import type { Config } from '../config.ts'
import { RlError } from '../errors.ts'
import type { Environment } from './port.ts'

/** Tasks of an evaluation split where the config wants all that there are: generated ones have no end. */
const GENERATED_EVALUATION_TASKS = 256

/** The environment that a config names. */
export async function openEnvironment({ environment, evaluation }: Config): Promise<Environment> {
  switch (environment.name) {
    case 'alfworld': {
      const { alfworldEnvironment } = await import('./alfworld/environment.ts')
      if (environment.source === 'data')
        return alfworldEnvironment({ source: { kind: 'folder', path: environment.data ?? '' } })
      const evaluated = evaluation.tasks ?? GENERATED_EVALUATION_TASKS
      return alfworldEnvironment({
        source: {
          kind: 'generated',
          seed: environment.seed,
          counts: { train: environment.tasks ?? 1000, 'in-domain': evaluated, ood: evaluated },
          size: environment.difficulty,
        },
        cachedGames: 1024,
      })
    }
    default:
      throw new RlError(`the environment '${environment.name}' cannot be opened here`, {
        code: 'environment.unknown',
        hint: 'environment.name is alfworld, coding or simulated',
      })
  }
}
