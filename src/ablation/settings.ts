/** The settings of an ablation: each is the same config with a few keys changed. */
import { unknownName } from './regimes.ts'

const FIXED_TASKS = 'adaptation.enabled=false'

/** Candidates take the place of training tasks, so rollouts stay equal. */
const REWRITTEN = ['adaptation.enabled=true', 'adaptation.candidates=within'] as const

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
    words: ['learning.reward=integrated', 'rewardModel.mode=co-trained', ...REWRITTEN],
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

/** One judge of the environment pays by the steps. */
const ESTIMATED = [
  'learning.advantage=separate',
  'learning.lambda=1',
  'rewardModel.provider=environment',
  'rewardModel.mode=fixed',
  'rewardModel.samples=1',
] as const

/** A learned judge says how much remains. */
const JUDGING = [
  'learning.advantage=separate',
  'learning.lambda=1',
  'rewardModel.provider=local',
  'rewardModel.form=estimate',
  'rewardModel.temperature=0',
  // Its start is made once, and takes its time beside other runs.
  'run.deadlines.coldStartSeconds=7200',
] as const

/** A step is paid by how much the rest fell. */
const ESTIMATE = ['learning.reward=progress', ...ESTIMATED] as const
const LEARNED = ['learning.reward=outlook', ...JUDGING] as const
const JUDGED = [...LEARNED, 'rewardModel.mode=co-trained'] as const

/** A step is paid for a new best alone: a detour costs nothing. */
const ESTIMATE_BESTS = ['learning.reward=best-progress', ...ESTIMATED] as const
const JUDGED_BESTS = ['learning.reward=best-outlook', ...JUDGING, 'rewardModel.mode=co-trained'] as const

/** Parts without a learned judge, and controls: what equal rollouts, equal time or a choice of tasks are worth. */
const OTHERS = {
  'outcome+environment': {
    short: 'out-env',
    words: [...OUTCOMES, ...REWRITTEN],
  },
  /** The setting's own estimate judges: no weights, no start, no labelled rollouts. */
  'outcome+estimate': {
    short: 'estimate',
    words: [...ESTIMATE, FIXED_TASKS],
  },
  /** The same, and a step is paid for a new best alone. */
  'outcome+estimate-bests': {
    short: 'e-bests',
    words: [...ESTIMATE_BESTS, FIXED_TASKS],
  },
  'outcome+estimate-bests+environment': {
    short: 'e-bests-env',
    words: [...ESTIMATE_BESTS, ...REWRITTEN],
  },
  'outcome+estimate+environment': {
    short: 'estimate-env',
    words: [...ESTIMATE, ...REWRITTEN],
  },
  /** The estimate by a solver on the true state: the ceiling of what a judge of steps is worth. */
  'outcome+oracle': {
    short: 'oracle',
    words: [...ESTIMATE, 'rewardModel.oracle=true', FIXED_TASKS],
  },
  'outcome+oracle-bests': {
    short: 'oracle-bests',
    words: [...ESTIMATE_BESTS, 'rewardModel.oracle=true', FIXED_TASKS],
  },
  /** Rewritten tasks without a direction and critiques: what a larger pool is worth by itself. */
  'random-rewriting': {
    short: 'random',
    words: [...OUTCOMES, ...REWRITTEN, 'adaptation.choice=random'],
  },
  /** A learned judge of the form `estimate`, with its gate. */
  'outcome+judge': {
    short: 'judge',
    words: [...JUDGED, FIXED_TASKS],
  },
  /** The same judge as its start left it: what co-training adds. */
  'outcome+fixed-judge': {
    short: 'fixed-judge',
    words: [...LEARNED, 'rewardModel.mode=fixed', FIXED_TASKS],
  },
  'outcome+judge-bests': {
    short: 'j-bests',
    words: [...JUDGED_BESTS, FIXED_TASKS],
  },
  'outcome+judge-bests+environment': {
    short: 'j-bests-env',
    words: [...JUDGED_BESTS, ...REWRITTEN],
  },
  'outcome+judge+environment': {
    short: 'judge-env',
    words: [...JUDGED, ...REWRITTEN],
  },
  /** How the judges of steps above are paid, without one: what the advantage is worth by itself. */
  'outcome-separate': {
    short: 'separate',
    words: [...OUTCOMES, 'learning.advantage=separate', 'learning.lambda=1', FIXED_TASKS],
  },
  /** The coding setting: outcomes pay the policy, and a model writes unit tests. Both have the same policy. */
  'outcome+fixed-tests': {
    short: 'fixed-tests',
    words: ['learning.reward=outcome', 'rewardModel.mode=fixed', FIXED_TASKS],
  },
  'outcome+tests': {
    short: 'tests',
    words: ['learning.reward=outcome', 'rewardModel.mode=co-trained', FIXED_TASKS],
  },
  'outcome-more': { short: 'more', words: [...OUTCOMES, FIXED_TASKS] },
  'outcome-time': { short: 'time', words: [...OUTCOMES, FIXED_TASKS] },
  /** The same beside a learned judge: it plays on for as long as rewritten tasks take. */
  'judge-time': { short: 'judge-time', words: [...JUDGED, FIXED_TASKS] },
  learnability: {
    short: 'learnability',
    words: [...OUTCOMES, 'environment.sampler=learnability', FIXED_TASKS],
  },
} as const satisfies Readonly<Record<string, SettingChange>>

/** Weights of AReaL and verl: a token that became likelier weighs more, but no more than five times. */
const TRUNCATED = 'policy.training.expert.mismatch={kind: truncate, level: token, limit: 5}'

/** Rollouts of a policy that is some versions behind, each with and without truncated importance weights. */
const STALENESS = {
  'staleness-0': { short: 'stale-0', words: stale(0) },
  'staleness-0+weights': { short: 'stale-0-w', words: [...stale(0), TRUNCATED] },
  'staleness-1': { short: 'stale-1', words: stale(1) },
  'staleness-1+weights': { short: 'stale-1-w', words: [...stale(1), TRUNCATED] },
  'staleness-2': { short: 'stale-2', words: stale(2) },
  'staleness-2+weights': { short: 'stale-2-w', words: [...stale(2), TRUNCATED] },
  'staleness-4': { short: 'stale-4', words: stale(4) },
  'staleness-4+weights': { short: 'stale-4-w', words: [...stale(4), TRUNCATED] },
} as const satisfies Readonly<Record<string, SettingChange>>

/** Without a barrier each rollout is that many versions behind, after the first ones. */
function stale(versions: number): readonly string[] {
  const barrier = versions === 0 ? [] : ['run.barrier=false']
  return [...OUTCOMES, FIXED_TASKS, `run.maxStaleness=${versions}`, ...barrier]
}

/** Only the place of the fork differs. One judge and one rule of advantages serve all, and the steps of a run are equal. */
const FORKED = [
  'learning.reward=outcome',
  'learning.advantage=siblings',
  'rewardModel.provider=environment',
  'rewardModel.mode=fixed',
  'rewardModel.samples=1',
  'policy.entropies=true',
  FIXED_TASKS,
] as const

/** Rollouts that branch off others, at equal steps (`run.steps` of the config). */
const BRANCHING = {
  'branching-none': { short: 'fork-none', words: FORKED },
  'branching-random': { short: 'fork-random', words: [...FORKED, 'environment.branching=random'] },
  'branching-entropy': { short: 'fork-entropy', words: [...FORKED, 'environment.branching=entropy'] },
  'branching-verdict': { short: 'fork-verdict', words: [...FORKED, 'environment.branching=verdict'] },
} as const satisfies Readonly<Record<string, SettingChange>>

/** Verdicts of the setting's estimate, a share of them wrong. They tell from which accuracy on a judge of steps pays. */
const VERDICTS = {
  'verdicts-1.0': { short: 'v-100', words: verdicts(0, 'step') },
  'verdicts-0.9': { short: 'v-90', words: verdicts(0.1, 'step') },
  'verdicts-0.8': { short: 'v-80', words: verdicts(0.2, 'step') },
  'verdicts-0.7': { short: 'v-70', words: verdicts(0.3, 'step') },
  'verdicts-0.9+by-command': { short: 'v-90-c', words: verdicts(0.1, 'command') },
  'verdicts-0.8+by-command': { short: 'v-80-c', words: verdicts(0.2, 'command') },
  'verdicts-0.7+by-command': { short: 'v-70-c', words: verdicts(0.3, 'command') },
} as const satisfies Readonly<Record<string, SettingChange>>

function verdicts(share: number, by: 'step' | 'command'): readonly string[] {
  return [
    'learning.reward=integrated',
    ...ESTIMATED,
    FIXED_TASKS,
    `rewardModel.errors={share: ${share}, by: ${by}}`,
  ]
}

export const SETTINGS = { ...PARTS, ...CHOICES, ...OTHERS, ...STALENESS, ...BRANCHING, ...VERDICTS }

/** `short`: in the ids of its runs. */
type SettingChange = { readonly short: string; readonly words: readonly string[] }

export type Part = keyof typeof PARTS
export type Choice = keyof typeof CHOICES
export type Other = keyof typeof OTHERS
export type Stale = keyof typeof STALENESS
export type Branching = keyof typeof BRANCHING
type Verdicts = keyof typeof VERDICTS
export type Setting = Part | Choice | Other | Stale | Branching | Verdicts

export const PART_NAMES = Object.keys(PARTS) as readonly Part[]
export const CHOICE_NAMES = Object.keys(CHOICES) as readonly Choice[]
export const OTHER_NAMES = Object.keys(OTHERS) as readonly Other[]
export const STALE_NAMES = Object.keys(STALENESS) as readonly Stale[]
export const BRANCHING_NAMES = Object.keys(BRANCHING) as readonly Branching[]
const VERDICT_NAMES = Object.keys(VERDICTS) as readonly Verdicts[]
export const SETTING_NAMES: readonly Setting[] = [
  ...PART_NAMES,
  ...CHOICE_NAMES,
  ...OTHER_NAMES,
  ...STALE_NAMES,
  ...BRANCHING_NAMES,
  ...VERDICT_NAMES,
]

/** A name for several settings at once, or a shorter one. */
const GROUPS: Readonly<Record<string, readonly Setting[]>> = {
  oracle: ['outcome+oracle'],
  staleness: STALE_NAMES,
  branching: BRANCHING_NAMES,
  verdicts: ['outcome-separate', ...VERDICT_NAMES],
}

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
 * Returns the named settings. `staleness`, `branching` and `verdicts` name all of their groups.
 * @throws RlError `cli.usage`
 */
export function settingsOf(list: string): readonly Setting[] {
  const names = list.split(',').flatMap((word): readonly string[] => {
    const name = word.trim()
    return Object.hasOwn(GROUPS, name) ? (GROUPS[name] ?? []) : [name]
  })
  for (const name of names) {
    if (!Object.hasOwn(SETTINGS, name)) throw unknownName('setting', name, SETTING_NAMES)
  }
  return SETTING_NAMES.filter((name) => names.includes(name))
}
