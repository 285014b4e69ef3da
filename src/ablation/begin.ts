/** Begins an ablation, or goes on with one: its config, its tasks, and what its settings need. */
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { loadConfig, openConfig } from '../config.ts'
import { explain, RlError } from '../errors.ts'
import { pairNamed } from './named-pair.ts'
import { regimeFile } from './regimes.ts'
import { ablationKey, newResults, primaryOf, type Results, readResults } from './results.ts'
import { CHOICE_NAMES, PART_NAMES, type Setting, wordsOf } from './settings.ts'

const CONFIG = 'config/ablation.yaml'

export type Words = {
  readonly regime?: string | undefined
  readonly config?: string | undefined
  readonly set?: readonly string[] | undefined
  readonly taskSeed?: number | undefined
}

/** @throws RlError `ablate.exists`, `cli.usage`, or what is wrong with the config */
export function begun(file: string, command: string, { regime, config, set, taskSeed }: Words): Results {
  // An ablation without a row may be begun otherwise: its first run may have failed by its config.
  if (existsSync(file) && readResults(file).rows.length > 0)
    throw new RlError(`${file} holds an ablation already`, {
      code: 'ablate.exists',
      hint: '--resume goes on with it; --out FOLDER begins another',
    })
  const folder = dirname(file)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new RlError(`--out ${folder} is a file`, { code: 'cli.usage', hint: 'name a folder' })
  const report = join(folder, 'ablation.md')
  if (!existsSync(file) && existsSync(report))
    throw new RlError(`${report} is the report of another ablation`, {
      code: 'ablate.exists',
      hint: '--out FOLDER begins one elsewhere',
    })
  const seed = set?.find((word) => word.startsWith('environment.seed='))
  if (seed !== undefined)
    throw new RlError(`--set ${seed} would be changed again: seeds of tasks differ from run to run`, {
      code: 'cli.usage',
      hint: 'use --task-seed N: run N of a setting has the tasks of that seed + N',
    })
  if (regime !== undefined && config !== undefined)
    throw new RlError(`--regime ${regime} and --config ${config} both give a config`, {
      code: 'cli.usage',
      hint: 'name one of them; --set changes keys of either',
    })
  const path = regime === undefined ? (config ?? CONFIG) : regimeFile(regime)
  const read = loadConfig({ file: path, set: set ?? [], env: process.env })
  return newResults(command, read, { taskSeed, regime })
}

/** @throws RlError `cli.usage`, `ablate.nothing`, `ablate.bad-file`, `ablate.other-config` */
export function resumed(file: string, { regime, config, set, taskSeed }: Words): Results {
  if (config !== undefined || set !== undefined)
    throw new RlError('a resumed ablation keeps its config', {
      code: 'cli.usage',
      hint: 'omit --config and --set, or begin another with --out FOLDER',
    })
  const results = readResults(file)
  const key = ablationKey(results)
  const other = results.rows.find(({ run }) => (/^ablate-([0-9a-f]{6})-/.exec(run)?.[1] ?? key) !== key)
  if (other !== undefined)
    throw new RlError(
      `${file}: run ${other.run} was played with another config or other task seeds than the file has`,
      {
        code: 'ablate.other-config',
        hint: 'restore the file, or begin another with --out FOLDER',
      },
    )
  if (taskSeed !== undefined && taskSeed !== results.taskSeed)
    throw new RlError(`--task-seed ${taskSeed}, but the runs of ${file} have ${results.taskSeed}`, {
      code: 'cli.usage',
      hint: 'omit --task-seed, or begin another with --out FOLDER',
    })
  if (regime !== undefined && regime !== results.regime)
    throw new RlError(`--regime ${regime}, but the runs of ${file} have ${results.regime ?? 'none'}`, {
      code: 'cli.usage',
      hint: 'omit --regime, or begin another with --out FOLDER',
    })
  return results
}

/** Settings whose judge is a model. They name no provider: an endpoint's model may judge too. */
const LEARNED: readonly Setting[] = [
  'policy',
  'policy+reward',
  'policy+reward+environment',
  'reward-model-only',
  ...CHOICE_NAMES,
]

type Where = { readonly configFile: string; readonly taskSeed: number }

/**
 * Returns the settings that are compared if nobody names any: the two of the config's contrast, or the parts of the loop that the
 * config can play.
 * @param omit is told of each part that it cannot play
 * @throws RlError with the code of the first refusal, if it can play none
 */
export async function usualSettings(
  results: Results,
  where: Where,
  omit: (message: string) => void,
): Promise<readonly Setting[]> {
  const primary = primaryOf(results)
  if (primary !== null) return pairNamed(primary)
  const playable: Setting[] = []
  const refusals: unknown[] = []
  for (const setting of PART_NAMES) {
    try {
      await checkSettings([setting], where)
      playable.push(setting)
    } catch (cause) {
      refusals.push(cause)
    }
  }
  if (playable.length === 0) throw refusals[0]
  for (const refusal of refusals) omit(`left out: ${explain(refusal)}`)
  return playable
}

/**
 * Refuses settings whose run could not begin, before any is played. The head of a run makes the same checks.
 * @throws RlError with the code of the refusal
 */
export async function checkSettings(
  settings: readonly Setting[],
  { configFile, taskSeed }: Where,
): Promise<void> {
  for (const setting of settings) {
    try {
      const { rewardModel } = await openConfig({ file: configFile, set: wordsOf(setting, 1, taskSeed) })
      if (LEARNED.includes(setting) && rewardModel.provider === 'environment')
        throw new RlError(
          "its judge is a model's, and rewardModel.provider is environment, the setting's own estimate",
          {
            code: 'ablate.lacks-part',
            hint: '--set rewardModel.provider=local makes a judge that learns; outcome+estimate measures the estimate',
          },
        )
    } catch (cause) {
      const { code = 'ablate.lacks-part', hint = null } = cause instanceof RlError ? cause : {}
      const reason = cause instanceof RlError ? cause.message : explain(cause)
      throw new RlError(`setting ${setting}: ${reason}`, {
        ...{ code, cause },
        hint: ['omit it from --settings', hint].filter((one) => one !== null).join('; else '),
      })
    }
  }
}
