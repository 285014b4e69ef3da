/** Checks of a config beyond the types of its keys. */

import type { Config } from '../config-schema/schema.ts'
import type { RunConfig } from '../config-schema/sections.ts'
import { sectionOf } from '../environments/sections.ts'
import type { Refuse, Setting } from '../environments/setting.ts'
import { settingNames, unknownSetting } from '../environments/settings.ts'
import { RlError } from '../errors.ts'
import { ruleNeeding, wrongRule } from '../learning/registry.ts'
import { MODEL_PROVIDERS, wrongProvider } from '../models/registry.ts'
import { nearest } from '../nearest.ts'
import { presentPath } from './renamed.ts'
import type { OriginOf } from './sources.ts'

/** Refuses a key by the place that its value comes from. */
export const refusing =
  (origin: OriginOf): Refuse =>
  (path, message, hint) => {
    const present = presentPath(path.split('.'))
    throw new RlError(`${origin(present)}: ${present.join('.')}: ${message}`, {
      code: 'config.invalid',
      hint,
    })
  }

/**
 * Does every check of a config that may be replayed. The checks of its setting are done if the setting is
 * known.
 */
export function checkConfig(config: Config, setting: Setting | undefined, refuse: Refuse): void {
  checkDeadlines(config.run, refuse)
  const { name, module } = config.environment
  if (!setting && module === null && !settingNames().includes(name)) {
    const { message, hint } = unknownSetting(name)
    refuse('environment.name', message, hint ?? '')
  }
  checkSense(config, refuse)
  if (setting) checkSeeing(setting, config, refuse)
  if (setting) checkTypes(setting, config, refuse)
  if (setting && !setting.simulated) checkParts(setting, config, refuse)
  if (setting?.judging?.by === 'tests' && config.rewardModel.mode !== 'off')
    if (config.rewardModel.judging !== 'group')
      refuse(
        'rewardModel.judging',
        `'${config.rewardModel.judging}' is not for a setting that is judged by tests`,
        'use group: a test is run on all rollouts of a task',
      )
  setting?.check?.(config, refuse, sectionOf(setting, config.environment))
}

/** Returns true if a section's model runs in this process, so that its weights can be changed. */
export function trains(
  { provider }: { readonly provider: string },
  { models }: Pick<Config, 'models'>,
): boolean {
  return MODEL_PROVIDERS.find(provider, models.module)?.trains === true
}

/** Most tasks that one iteration plays: those for training, and candidates beside them. */
function tasksOfIteration({ environment, adaptation }: Config): number {
  const beside = adaptation.enabled && adaptation.candidates !== 'within'
  return (
    Math.floor(environment.tasksPerIteration * (environment.refill ?? 1)) +
    (beside ? environment.tasksPerIteration : 0)
  )
}

/** Whether iterations that are played side by side find tasks that no other plays. */
export function hasTasksForAll(config: Config): boolean {
  const { tasks } = config.environment
  return tasks === null || tasks >= tasksOfIteration(config) * (config.run.maxStaleness + 1)
}

/**
 * Checks the nested deadlines. An inner one must end before the outer one, or a late scorer finds a dead
 * worker.
 */
function checkDeadlines({ deadlines }: RunConfig, refuse: Refuse): void {
  const order = ['llmCallSeconds', 'stepSeconds', 'rolloutSeconds', 'scoringSeconds'] as const
  for (const [i, outer] of order.entries()) {
    const inner = order[i - 1]
    if (inner !== undefined && deadlines[inner] >= deadlines[outer])
      refuse(
        `run.deadlines.${outer}`,
        `${deadlines[outer]} is not more than ${inner} (${deadlines[inner]})`,
        `deadlines must grow: ${order.join(' < ')}`,
      )
  }
}

/** Models that see are behind endpoints, and act by places on the screen of a setting that has one. */
function checkSeeing(setting: Setting, config: Config, refuse: Refuse): void {
  const { environment, policy, rewardModel } = config
  const wishes = [
    ['environment.frames', environment.frames, false],
    ['policy.frames', policy.frames > 0, trains(policy, config)],
    ['rewardModel.frames', rewardModel.frames && rewardModel.mode !== 'off', trains(rewardModel, config)],
  ] as const
  for (const [path, wished, blind] of wishes) {
    if (!wished) continue
    if (!setting.pictures) refuse(path, `the setting '${setting.name}' shows no screen`, 'web and desktop do')
    if (blind) refuse(path, 'local models read text alone', 'use provider openai with a model that sees')
  }
  const seeing = setting.pictures?.seeing(sectionOf(setting, config.environment)) ?? null
  if (policy.frames > 0 && seeing === null)
    refuse(
      'policy.frames',
      'the setting takes actions in words',
      `add --set environment.${setting.name}.grammar=computer_use`,
    )
  if (policy.frames === 0 && seeing !== null && environment.player === 'own')
    refuse(
      'policy.frames',
      'actions are places on a screen, and the policy sees none',
      `add --set policy.frames=3 with a model that sees, or environment.${setting.name}.grammar=commands`,
    )
}

function checkSense(config: Config, refuse: Refuse): void {
  const { environment, adaptation, learning, rewardModel, evaluation, run, models } = config
  for (const section of ['policy', 'rewardModel'] as const) {
    const { provider, expert } = config[section]
    if (expert.logprobs === 'sampling' && !trains(config[section], config))
      refuse(
        `${section}.expert.logprobs`,
        `'sampling' needs a local model: ${provider} tells log-probs of temperature 1`,
        `use model, or ${section}.provider local`,
      )
  }
  if (environment.source === 'data' && environment.data === null)
    refuse('environment.data', 'is missing for source data', 'add --set environment.data=<folder>')
  for (const section of ['policy', 'rewardModel'] as const) checkPublishing(config, section, refuse)
  checkInstructions(config, refuse)
  if (!Object.hasOwn(environment.splits, 'train'))
    refuse('environment.splits', "has no 'train'", 'add e.g. `train: train`')
  for (const split of evaluation.splits)
    if (split === 'train' || !Object.hasOwn(environment.splits, split))
      refuse(
        'evaluation.splits',
        `'${split}' is not an evaluation split`,
        `${nearSplit(split, environment.splits)}environment.splits has ${Object.keys(environment.splits).join(', ')}; train is never evaluated on`,
      )
  if (
    rewardModel.mode === 'co-trained' &&
    rewardModel.normalisation === 'within-step' &&
    rewardModel.samples < 2
  )
    refuse(
      'rewardModel.normalisation',
      "'within-step' compares the judgements of a step, and there is only one",
      'add --set rewardModel.samples=3, or use within-task',
    )
  if (run.keepVersions !== undefined && run.keepVersions <= run.maxStaleness)
    refuse(
      'run.keepVersions',
      `${run.keepVersions} is not more than run.maxStaleness (${run.maxStaleness})`,
      'rollouts of an older version still ask for it',
    )
  if (run.barrier !== undefined && run.maxStaleness === 0)
    refuse(
      'run.barrier',
      `${run.barrier} says nothing if run.maxStaleness is 0: an iteration waits for the one before`,
      'set run.maxStaleness to 1 or more, or leave it out',
    )
  if (run.barrier === false && !hasTasksForAll(config))
    refuse(
      'run.barrier',
      `${environment.tasks} tasks are too few for ${run.maxStaleness + 1} iterations at a time: each may play ${tasksOfIteration(config)}, and a task is played once at a time`,
      `set environment.tasks to ${tasksOfIteration(config) * (run.maxStaleness + 1)} or more, or run.barrier true`,
    )
  if (environment.minGroupSize > environment.rolloutsPerTask)
    refuse(
      'environment.minGroupSize',
      `${environment.minGroupSize} is more than rolloutsPerTask (${environment.rolloutsPerTask})`,
      'no group could ever be learned from',
    )
  if (
    environment.tasks !== null &&
    run.maxStaleness > 0 &&
    environment.tasks < environment.tasksPerIteration * (run.maxStaleness + 1)
  )
    refuse(
      'environment.tasks',
      `${environment.tasks} are too few for ${run.maxStaleness + 1} iterations of ${environment.tasksPerIteration} at a time`,
      'lower run.maxStaleness or environment.tasksPerIteration',
    )
  if (adaptation.low >= adaptation.high)
    refuse(
      'adaptation.low',
      `${adaptation.low} is not less than high (${adaptation.high})`,
      'e.g. 0.2 and 0.8',
    )
  for (const [path, range] of [
    ['rewardModel.accuracyRange', rewardModel.accuracyRange],
    ['learning.expert.policyAccuracyRange', learning.expert.policyAccuracyRange],
  ] as const)
    if (range !== null && range[0] > range[1]) refuse(path, `[${range}] is upside down`, 'low end first')
  // The parts of a user's module are known when it is loaded.
  const wrongs = [
    learning.module === null ? wrongRule(config) : null,
    models.module === null ? wrongProvider(config) : null,
  ]
  for (const wrong of wrongs) if (wrong) refuse(wrong.key, wrong.message, wrong.hint)
}

function nearSplit(split: string, splits: Readonly<Record<string, unknown>>): string {
  const near = nearest(
    split,
    Object.keys(splits).filter((name) => name !== 'train'),
  )
  return near === null ? '' : `the nearest is ${near}; `
}

/** Instructions are learned by a model that answers prompts, and that nobody trains. */
function checkInstructions({ policy, models, run }: Config, refuse: Refuse): void {
  if (policy.instructions === undefined) return
  const path = 'policy.instructions'
  const { open } = MODEL_PROVIDERS.find(policy.provider, models.module) ?? {}
  // A user's providers are known when they are loaded.
  if (!open && models.module === null)
    refuse(path, `provider ${policy.provider} reads no instructions`, 'use provider openai, or leave it out')
  if (policy.trainer === 'external' || policy.publish.as !== 'none')
    refuse(path, 'the weights of this policy are trained outside', 'learn one of both')
  if (run.maxStaleness > 0)
    refuse(path, 'a version is chosen by the evidence of the one before', 'use run.maxStaleness 0')
}

function checkPublishing(config: Config, name: 'policy' | 'rewardModel', refuse: Refuse): void {
  const { run, models } = config
  const { publish, provider, trainer, baseUrl } = config[name]
  const { openAi } = MODEL_PROVIDERS.find(provider, models.module) ?? {}
  if (publish.as === 'none') return
  if (!openAi || trainer !== 'external')
    refuse(
      `${name}.publish.as`,
      `'${publish.as}' needs servers and a trainer outside`,
      `use ${name}.provider openai and ${name}.trainer external, or publish.as none`,
    )
  if (publish.expert.keep <= run.maxStaleness)
    refuse(
      `${name}.publish.expert.keep`,
      `${publish.expert.keep} is not more than run.maxStaleness (${run.maxStaleness})`,
      'rollouts of an older version still ask for it',
    )
  if (publish.as === 'model' && publish.routes === 'sglang' && run.maxStaleness > 0)
    refuse(
      `${name}.publish.routes`,
      `'sglang' replaces a whole model, and run.maxStaleness is ${run.maxStaleness}`,
      'rollouts of an older version would be played by the new one: use publish.as lora, or run.maxStaleness 0',
    )
  if (publish.replicas.length === 0 && baseUrl === null)
    refuse(`${name}.publish.replicas`, 'there is no server to publish to', `name them, or ${name}.baseUrl`)
}

/** Refuses a part that the setting lacks, before anything starts. */
/** Types of tasks are those of the setting, and random names its offer. */
function checkTypes(
  { name, taskTypes: known = [], domainRandomization: canRandomize }: Setting,
  { environment: { taskTypes = [], domainRandomization } }: Config,
  refuse: Refuse,
): void {
  if (domainRandomization && !canRandomize)
    refuse('environment.domainRandomization', `the setting '${name}' has no random names`, 'remove the key')
  const odd = taskTypes.find((type) => !known.includes(type))
  if (odd === undefined) return
  const near = nearest(odd, known)
  if (known.length === 0)
    refuse('environment.taskTypes', `the setting '${name}' has no types`, 'remove the key')
  else
    refuse(
      'environment.taskTypes',
      `the setting '${name}' has no type '${odd}'`,
      near === null ? `the types are ${known.join(', ')}` : `did you mean ${near}?`,
    )
}

/** For a setting without an estimate that meets the default config. */
const JUDGED_OTHERWISE =
  'add --config config/co-trained.yaml, whose judge is a model, or --set rewardModel.mode=off --set learning.reward=outcome'

function checkParts(setting: Setting, config: Config, refuse: Refuse): void {
  const { environment, rewardModel } = config
  const lacks = (part: string) => `the setting '${setting.name}' has no ${part}`
  if (!setting.acting && environment.player === 'own')
    refuse('environment.player', lacks('acting'), 'use player gateway: agents outside play it')
  if (!setting.judging && rewardModel.mode !== 'off')
    refuse(
      'rewardModel.mode',
      lacks('judging'),
      'add --set rewardModel.mode=off --set learning.reward=outcome',
    )
  for (const part of ['progress', 'falls'] as const) {
    const rule = setting[part] ? null : ruleNeeding(config, part)
    if (rule)
      refuse(
        rule.key,
        lacks(part),
        rewardModel.provider === 'environment' ? JUDGED_OTHERWISE : 'use outcome or integrated',
      )
  }
}
