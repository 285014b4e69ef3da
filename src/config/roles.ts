/**
 * Workers that a config asks for. The check of a new run and the roles share these functions, so nothing is refused
 * after a start.
 */

import type { Config } from '../config-schema/schema.ts'
import type { Refuse, Setting } from '../environments/setting.ts'
import { settingOf } from '../environments/settings.ts'
import { isPreset } from '../models/local/presets.ts'
import { MODEL_PROVIDERS, providerOf } from '../models/registry.ts'

/**
 * Kinds of acting: scripts that write texts or choose, a model of this process, or a model that is asked by
 * prompts.
 */
export type PolicyWorker = 'scripted-writer' | 'scripted-chooser' | 'local' | 'prompted'

/**
 * Kinds of judging: of steps, or of whole groups by tests, and by which kind of model. `off`: nothing judges.
 */
export type JudgeWorker =
  | 'off'
  | 'local'
  | 'prompted'
  | 'environment'
  | 'estimate'
  | 'scripted-test-writer'
  | 'local-test-writer'
  | 'prompted-test-writer'

/** Returns null if no worker can do what the section says. */
export function policyWorkerOf({ policy, models }: Config, setting: Setting): PolicyWorker | null {
  const { acting, model } = policy
  const provider = MODEL_PROVIDERS.find(policy.provider, models.module)
  const writes = setting.acting?.kind === 'texts'
  if (provider?.simulated && writes) return 'scripted-writer'
  if (provider?.simulated && acting === 'choices') return 'scripted-chooser'
  // A model that is trained from scratch reads no prompts.
  const readsPrompts = !writes && !isPreset(model)
  if (provider?.trains && (readsPrompts || acting === (writes ? 'free' : 'choices'))) return 'local'
  return provider?.open && acting !== 'choices' ? 'prompted' : null
}

/** Returns null if no worker can do what the section says. */
export function judgeWorkerOf({ rewardModel, models }: Config, { judging }: Setting): JudgeWorker | null {
  if (rewardModel.mode === 'off') return 'off'
  const provider = MODEL_PROVIDERS.find(rewardModel.provider, models.module)
  if (provider?.measures) return judging?.by === 'tests' ? null : 'environment'
  if (judging?.by === 'tests') {
    if (provider?.simulated) return 'scripted-test-writer'
    return provider?.open ? 'prompted-test-writer' : 'local-test-writer'
  }
  if (provider?.open) return 'prompted'
  if (provider?.trains) return rewardModel.form === 'estimate' ? 'estimate' : 'local'
  return null
}

/** Whether any part of a run is made up: then no figure is a measurement. */
export function isSimulated(config: Config): boolean {
  const { environment, policy, rewardModel } = config
  const made = [settingOf(environment), providerOf(policy, config), providerOf(rewardModel, config)]
  return made.some((part) => part?.simulated)
}

/** Hint about other ways to act, for a refusal. */
export const actingHint = (setting: Setting): string =>
  setting.acting?.kind === 'texts'
    ? 'its actions are texts: add --set policy.acting=free'
    : 'add --set policy.acting=numbered, or free; choices are for provider local or simulated'

/** Refuses what the roles would refuse at their start. A user's providers must have been loaded. */
export function checkRoles(config: Config, setting: Setting, refuse: Refuse): void {
  // Formulas stand in for all roles.
  if (setting.simulated) return
  checkPolicy(config, setting, refuse)
  checkJudge(config, setting, refuse)
  checkRewriter(config, setting, refuse)
}

function checkPolicy(config: Config, setting: Setting, refuse: Refuse): void {
  const { provider, acting: by, model } = config.policy
  const { name, acting, expert } = setting
  const worker = policyWorkerOf(config, setting)
  const isChoice = acting?.kind === 'texts' && by === 'choices'
  if (worker === null || isChoice)
    refuse(
      'policy.acting',
      `'${by}' is not for provider ${provider} and the setting '${name}'`,
      actingHint(setting),
    )
  const lacks = (path: string, part: string, hint: string) =>
    refuse(path, `the setting '${name}' has no ${part}, which ${provider} ${model} needs`, hint)
  const forAgents = config.environment.player === 'gateway'
  if (worker === 'local' && forAgents && isPreset(model))
    refuse(
      'policy.model',
      `'${model}' reads no chats, and agents send chats`,
      'use a folder, or a name on a hub',
    )
  if (worker === 'local' && !acting && !forAgents)
    lacks('policy.provider', 'acting', 'use environment.player gateway: agents outside play it')
  if (worker === 'local' && isPreset(model) && acting?.kind === 'texts' && !acting.lessons)
    lacks('policy.model', 'lessons', 'use a folder as policy.model, or policy.provider openai')
  if (worker === 'scripted-chooser' && !expert)
    lacks('policy.provider', 'expert', 'use provider local, or openai')
  if (worker === 'scripted-writer' && acting?.kind === 'texts' && !acting.scripted)
    lacks('policy.provider', 'script for its acting', 'use provider local, or openai')
}

function checkJudge(config: Config, setting: Setting, refuse: Refuse): void {
  const { provider, mode } = config.rewardModel
  const { name, judging } = setting
  const worker = judgeWorkerOf(config, setting)
  const lacks = (part: string, hint: string) =>
    refuse(
      'rewardModel.provider',
      `the setting '${name}' has no ${part}, which provider ${provider} needs`,
      hint,
    )
  if (worker === null)
    refuse(
      'rewardModel.provider',
      `'${provider}' judges no episodes of the setting '${name}'`,
      'use provider local, openai or one of yours, or --set rewardModel.mode=off --set learning.reward=outcome',
    )
  if (config.rewardModel.reads === 'next-message' && worker !== 'prompted')
    refuse(
      'rewardModel.reads',
      `'next-message' is for judges that read prompts, and provider ${provider} in mode ${mode} reads none`,
      'use rewardModel.provider openai',
    )
  if (worker !== 'off' && !judging)
    refuse(
      'rewardModel.mode',
      `the setting '${name}' has no judging, which mode ${mode} needs`,
      'add --set rewardModel.mode=off --set learning.reward=outcome',
    )
  checkForm(config, setting, worker, refuse)
  if (worker === 'environment' && !setting.progress)
    lacks('progress', 'add progress to the setting, or use rewardModel.provider local or openai')
  if (judging?.by !== 'tests') return
  if (worker === 'local-test-writer' && !judging.lessons)
    lacks('lessons for a small writer of tests', 'use rewardModel.provider openai')
  if (worker === 'scripted-test-writer' && !judging.scripted)
    lacks('script for its tests', 'use rewardModel.provider local, or openai')
}

/** A judge that estimates is taught by an expert, on what the setting says of the steps that remain. */
function checkForm(
  { rewardModel: { form, provider, trainer, criteria } }: Config,
  setting: Setting,
  worker: JudgeWorker | null,
  refuse: Refuse,
): void {
  if (form !== 'estimate' || worker === 'off') return
  const path = 'rewardModel.form'
  if (worker !== 'estimate')
    refuse(
      path,
      `'estimate' is for local judges of steps, not for provider ${provider} and the setting '${setting.name}'`,
      provider === 'local' ? 'leave it out' : 'use rewardModel.provider local, or leave it out',
    )
  for (const part of ['remaining', 'falls', 'expert'] as const)
    if (!setting[part])
      refuse(
        path,
        `the setting '${setting.name}' has no ${part}, which 'estimate' needs`,
        part === 'expert'
          ? 'leave it out'
          : 'add an estimate of the steps that remain to the setting, or leave it out',
      )
  if (trainer === 'external' || criteria !== undefined)
    refuse(
      trainer === 'external' ? 'rewardModel.trainer' : 'rewardModel.criteria',
      'a judge that estimates names no causes, and learns here',
      'leave it out, or use rewardModel.form causes',
    )
}

function checkRewriter({ adaptation, models }: Config, { name, rewriting }: Setting, refuse: Refuse): void {
  const { enabled, rewriter, provider } = adaptation
  if (!enabled || rewriter !== 'language-model') return
  if (!rewriting?.language)
    refuse(
      'adaptation.rewriter',
      `the setting '${name}' takes no rewrites of a language model`,
      'use symbolic, or --set adaptation.enabled=false',
    )
  if (!MODEL_PROVIDERS.find(provider, models.module)?.open)
    refuse(
      'adaptation.provider',
      `'${provider}' answers no prompts`,
      'use provider openai, or one of yours (models.module)',
    )
}
