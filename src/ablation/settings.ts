/** What an ablation compares: each setting is the same config with a few keys changed. */
import { RlError } from '../errors.ts'

const FIXED_TASKS = 'adaptation.enabled=false'

/**
 * In the order in which parts are added (paper, Table 1), then the two that isolate a signal. True progress is judged by the
 * way, by one sample whose verdict is not used: progress is told with the verdicts.
 */
export const SETTINGS = {
  before: {
    short: 'before',
    words: [
      'policy.training.enabled=false',
      'rewardModel.mode=fixed',
      'learning.reward=integrated',
      'run.iterations=1',
      'environment.tasksPerIteration=1',
      FIXED_TASKS,
    ],
  },
  'outcome-only': {
    short: 'outcome',
    words: ['learning.reward=outcome', 'rewardModel.mode=off', FIXED_TASKS],
  },
  policy: {
    short: 'policy',
    words: ['learning.reward=integrated', 'rewardModel.mode=fixed', FIXED_TASKS],
  },
  'policy+reward': {
    short: 'reward',
    words: ['learning.reward=integrated', 'rewardModel.mode=co-trained', FIXED_TASKS],
  },
  'policy+reward+environment': {
    short: 'environment',
    words: [
      'learning.reward=integrated',
      'rewardModel.mode=co-trained',
      'adaptation.enabled=true',
      'adaptation.candidates=within',
    ],
  },
  'true-progress': {
    short: 'progress',
    words: ['learning.reward=progress', 'rewardModel.mode=fixed', 'rewardModel.samples=1', FIXED_TASKS],
  },
  'reward-model-only': {
    short: 'judge-only',
    words: ['learning.reward=reward-model', 'rewardModel.mode=co-trained', FIXED_TASKS],
  },
} as const satisfies Readonly<Record<string, SettingChange>>

/** `short`: in the ids of its runs. */
type SettingChange = { readonly short: string; readonly words: readonly string[] }

export type Setting = keyof typeof SETTINGS

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly Setting[]

/** Tasks of an ablation are made with seeds that no other config uses: nothing was tuned on them. */
const TASK_SEED = 9_000

/** The keys that a setting and a seed change. Of a seed all settings share tasks, cold starts and random draws. */
export function wordsOf(setting: Setting, seed: number): readonly string[] {
  return [...SETTINGS[setting].words, `run.seed=${seed}`, `environment.seed=${TASK_SEED + seed}`]
}

/** Error: `cli.usage`. */
export function settingsOf(list: string | undefined): readonly Setting[] {
  if (list === undefined) return SETTING_NAMES
  const names = list.split(',').map((name) => name.trim())
  for (const name of names)
    if (!Object.hasOwn(SETTINGS, name))
      throw new RlError(`'${name}' is no setting`, {
        code: 'cli.usage',
        hint: `they are ${SETTING_NAMES.join(', ')}`,
      })
  return SETTING_NAMES.filter((name) => names.includes(name))
}
