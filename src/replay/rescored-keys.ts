/**
 * The effect of each key of a config on a rescore: it computes what follows from the key, or says why it
 * cannot.
 */

import { isDeepStrictEqual } from 'node:util'
import { presentPath } from '../config/renamed.ts'
import type { Config } from '../config.ts'
import { RlError } from '../errors.ts'
import { ruleNames } from '../learning/registry.ts'
import { RULE_KINDS } from '../learning/shelves.ts'
import { isPlayingKind } from './playing-figures.ts'

/** Sections whose rules stored votes can be held to, and the policy's, whose updates they enter. */
type Section = 'learning' | 'adaptation' | 'rewardModel' | 'policy'

/** A key of a section, or of its fine points. */
type KeyOf<S extends Section> = Exclude<keyof Config[S] | keyof Config[S]['expert'], 'expert'>

/** `computed`, or why it is not. */
type Effect = string

const COMPUTED = 'computed'
const PLAYED = 'it decides which tasks and candidates are played, and those of the run are played already'
const ASKED = 'it says how a model is asked, and its answers are in the log already'
const UPDATES = 'updates of the reward model are not computed again'
const LOSSES =
  'it acts on the loss of tokens, after the advantages, and updates of the policy are not computed again'
const ACTED = 'it says how the policy acts, and its rollouts are in the log already'
const COLUMN = 'the log has this column already, or it never gets it'
const ALARMS = 'alarms change no reward: rl status tells them'

const ENDPOINT = {
  provider: ASKED,
  model: ASKED,
  baseUrl: ASKED,
  windowTokens: ASKED,
  extraBody: ASKED,
  template: ASKED,
  reasoningEffort: ASKED,
  sendSeed: ASKED,
  apiKeyEnv: ASKED,
  concurrency: ASKED,
  maxCalls: ASKED,
  promptPrice: ASKED,
  completionPrice: ASKED,
}

/** Holds every key of the sections. A new key does not compile until its effect on a rescore is decided. */
const KEYS: { readonly [S in Section]: { readonly [K in KeyOf<S>]: Effect } } = {
  learning: {
    module: COMPUTED,
    reward: COMPUTED,
    lambda: COMPUTED,
    advantage: COMPUTED,
    filter: COMPUTED,
    rollouts: COMPUTED,
    weights: COMPUTED,
    options: COMPUTED,
    outside: 'the file is not in the log',
    outsideRule: 'the file is not in the log',
    successPool: 'successes of earlier iterations are not kept',
    alarms: ALARMS,
    single: COMPUTED,
    stdFloor: COMPUTED,
    overlong: COMPUTED,
    scale: COMPUTED,
    deviation: COMPUTED,
    policyAccuracyRange: COMPUTED,
    truncated: COMPUTED,
    mixedOutcomes: COMPUTED,
  },
  adaptation: {
    ...ENDPOINT,
    enabled: PLAYED,
    low: COMPUTED,
    high: COMPUTED,
    candidates: PLAYED,
    rule: COMPUTED,
    evidence: COMPUTED,
    anyType: PLAYED,
    choice: PLAYED,
    accepted: PLAYED,
    confidence: COMPUTED,
    prior: COMPUTED,
    rewriter: ASKED,
    skills: ASKED,
    samples: ASKED,
    temperature: ASKED,
    maxTokens: ASKED,
    critiques: ASKED,
  },
  rewardModel: {
    ...ENDPOINT,
    mode: UPDATES,
    judging: ASKED,
    form: ASKED,
    reads: ASKED,
    criteria: ASKED,
    consistency: UPDATES,
    samples: ASKED,
    temperature: ASKED,
    logprobs: ASKED,
    topP: ASKED,
    maxTokens: ASKED,
    frames: ASKED,
    oracle: ASKED,
    errors: ASKED,
    expected: COMPUTED,
    normalisation: UPDATES,
    balanceVerdicts: UPDATES,
    measuredRollouts: 'true progress of other rollouts is not in the log',
    invalidReward: UPDATES,
    novelTests: UPDATES,
    accuracyRange: UPDATES,
    coldStart: UPDATES,
    trainer: UPDATES,
    trainReasoning: UPDATES,
    publish: ASKED,
    training: UPDATES,
  },
  policy: {
    ...ENDPOINT,
    acting: ACTED,
    thinking: ACTED,
    contextTokens: ACTED,
    lora: LOSSES,
    temperature: ACTED,
    topP: ACTED,
    maxTokens: ACTED,
    historySteps: ACTED,
    frames: ACTED,
    coldStart: LOSSES,
    instructions: ACTED,
    trainer: LOSSES,
    publish: ACTED,
    training: LOSSES,
    cacheMegabytes: ACTED,
    logprobs: COLUMN,
    entropies: COLUMN,
    baseLogprobs: COLUMN,
    trainReasoning: LOSSES,
  },
}

/** @param set words as of `--set`. @throws RlError `rescore.no-effect` with the key and why nothing follows from it here */
export function checkRescored(set: readonly string[]): void {
  for (const word of set) {
    const [path = ''] = word.split('=', 1)
    const [section = '', first, second] = presentPath(path.split('.'))
    const key = first === 'expert' ? second : first
    const keys: Readonly<Record<string, Effect>> = isSection(section) ? KEYS[section] : {}
    if (key === undefined || !Object.hasOwn(keys, key)) {
      if (isSection(section) && key !== undefined) continue // An unknown key is reported by the config, with the nearest one.
      throw refused(`${path} is no key that votes could tell anything about`)
    }
    if (keys[key] !== COMPUTED) throw refused(`${path} changes nothing here: ${keys[key]}`)
  }
}

/**
 * Refuses changed options of rules that no advantage and no decision on a candidate comes from.
 *
 * @param before the config of the run
 * @param after the same with the words of `--set`
 * @throws RlError `rescore.no-effect`
 */
export function checkRescoredOptions(before: Config, after: Config): void {
  const read = new Set(
    RULE_KINDS.flatMap((kind) => (isPlayingKind(kind) || kind === 'alarm' ? [] : ruleNames(after, kind))),
  )
  const alarms = ruleNames(after, 'alarm')
  for (const [name, options] of Object.entries(after.learning.options ?? {})) {
    if (read.has(name) || isDeepStrictEqual(options, before.learning.options?.[name])) continue
    const why = alarms.includes(name) ? ALARMS : `${PLAYED}; --rules all tells what it would have asked for`
    throw refused(`learning.options.${name} changes nothing here: ${why}`)
  }
}

/** Returns the words of `--set` whose keys have another value than the run had. */
export function changedKeys(
  set: readonly string[],
  before: Config,
  changeBy: (config: Config, set: readonly string[]) => Config,
): readonly string[] {
  return set.filter((word) => {
    try {
      return !isDeepStrictEqual(changeBy(before, [word]), before)
    } catch {
      return true // It holds beside the other words alone.
    }
  })
}

const isSection = (name: string): name is Section => Object.hasOwn(KEYS, name)

function refused(message: string): RlError {
  const computed = Object.entries(KEYS).flatMap(([section, keys]) =>
    Object.entries(keys).flatMap(([key, effect]) => (effect === COMPUTED ? [`${section}.${key}`] : [])),
  )
  return new RlError(message, {
    code: 'rescore.no-effect',
    hint: `these are computed: ${computed.join(', ')}; rl fork plays what follows from others`,
  })
}
