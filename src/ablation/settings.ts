/** The settings of an ablation: each is the same config with a few keys changed. */
import { RlError } from '../errors.ts'
import { unknownName } from './regimes.ts'

const FIXED_TASKS = 'adaptation.enabled=false'

const CO_TRAINED = ['learning.reward=integrated', 'rewardModel.mode=co-trained', FIXED_TASKS] as const

/**
 * In the order in which parts are added (paper, Table 1), then the two that isolate a signal. True progress
 * is reported with the verdicts. So one sample judges it, and its verdict is not used.
 */
const PARTS = {
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
    words: CO_TRAINED,
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

/** `policy+reward` with one of the project's choices set back to the published rule. */
const CHOICES = {
  'within-step': {
    short: 'within-step',
    words: [...CO_TRAINED, 'rewardModel.normalisation=within-step', 'rewardModel.samples=3'],
  },
  'all-outcomes': { short: 'all-outcomes', words: [...CO_TRAINED, 'learning.mixedOutcomes=false'] },
  'lambda-1': { short: 'lambda-1', words: [...CO_TRAINED, 'learning.lambda=1'] },
  'three-votes': {
    short: 'three-votes',
    words: [...CO_TRAINED, 'rewardModel.samples=3', 'rewardModel.expected=false'],
  },
} as const satisfies Readonly<Record<string, SettingChange>>

const OUTCOMES = ['learning.reward=outcome', 'rewardModel.mode=off'] as const

/** Parts without a learned judge, and controls: what equal rollouts, equal time or a choice of tasks are worth. */
const OTHERS = {
  'outcome+environment': {
    short: 'out-env',
    words: [...OUTCOMES, 'adaptation.enabled=true', 'adaptation.candidates=within'],
  },
  /** The setting's own estimate judges: no weights, no start, no labelled rollouts. */
  'outcome+estimate': {
    short: 'estimate',
    words: [
      'learning.reward=progress',
      'learning.advantage=separate',
      'learning.lambda=1',
      'rewardModel.provider=environment',
      'rewardModel.mode=fixed',
      'rewardModel.samples=1',
      FIXED_TASKS,
    ],
  },
  /** A learned judge of the form `estimate`, with its gate. */
  'outcome+judge': {
    short: 'judge',
    words: [
      'learning.reward=outlook',
      'learning.advantage=separate',
      'learning.lambda=1',
      'rewardModel.form=estimate',
      'rewardModel.temperature=0',
      'rewardModel.mode=co-trained',
      // Its start is made once, and takes its time beside other runs.
      'run.deadlines.coldStartSeconds=7200',
      FIXED_TASKS,
    ],
  },
  'outcome-more': { short: 'more', words: [...OUTCOMES, FIXED_TASKS] },
  'outcome-time': { short: 'time', words: [...OUTCOMES, FIXED_TASKS] },
  learnability: {
    short: 'learnability',
    words: [...OUTCOMES, 'environment.sampler=learnability', FIXED_TASKS],
  },
} as const satisfies Readonly<Record<string, SettingChange>>

/** Settings that are asked for, and why no run can play them. */
const ABSENT: Readonly<Record<string, string>> = {
  oracle: 'no setting tells a step reward from its true state: progress reads what the policy has read',
  'random-rewriting': 'no rewriter chooses at random: the symbolic one is led by critiques and difficulty',
}

export const SETTINGS = { ...PARTS, ...CHOICES, ...OTHERS }

/** `short`: in the ids of its runs. */
type SettingChange = { readonly short: string; readonly words: readonly string[] }

export type Part = keyof typeof PARTS
export type Choice = keyof typeof CHOICES
export type Other = keyof typeof OTHERS
export type Setting = Part | Choice | Other

export const PART_NAMES = Object.keys(PARTS) as readonly Part[]
export const CHOICE_NAMES = Object.keys(CHOICES) as readonly Choice[]
export const OTHER_NAMES = Object.keys(OTHERS) as readonly Other[]
export const SETTING_NAMES: readonly Setting[] = [...PART_NAMES, ...CHOICE_NAMES, ...OTHER_NAMES]

/**
 * Tasks of an ablation are made with seeds that no other config uses. Settings that were tuned on some task
 * seeds are confirmed on others.
 */
export const TASK_SEED = 9_000

/**
 * Returns the keys that a setting and a seed change. Of a seed all settings share tasks, cold starts and random draws. Seed N has
 * the tasks of `taskSeed` + N.
 */
export function wordsOf(setting: Setting, seed: number, taskSeed: number): readonly string[] {
  return [...SETTINGS[setting].words, `run.seed=${seed}`, `environment.seed=${taskSeed + seed}`]
}

/**
 * Returns the named settings, or the parts of the loop if there is no list.
 * @throws RlError `cli.usage`
 */
export function settingsOf(list: string | undefined): readonly Setting[] {
  if (list === undefined) return PART_NAMES
  const names = list.split(',').map((name) => name.trim())
  for (const name of names) {
    const reason = ABSENT[name]
    if (reason !== undefined)
      throw new RlError(`setting ${name} cannot be played: ${reason}`, {
        code: 'ablate.lacks-part',
        hint: 'omit it from --settings',
      })
    if (!Object.hasOwn(SETTINGS, name)) throw unknownName('setting', name, SETTING_NAMES)
  }
  return SETTING_NAMES.filter((name) => names.includes(name))
}
