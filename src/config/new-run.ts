/** Checks of a config that a run is about to begin with. Configs in logs are not asked: nothing waits, and nothing is learned. */

import { DEFAULT_MODEL } from '../config-schema/endpoint.ts'
import type { Config } from '../config-schema/schema.ts'
import type { Refuse } from '../environments/setting.ts'
import { settingOf } from '../environments/settings.ts'
import { ruleNeeding } from '../learning/registry.ts'
import { LORA_TARGETS } from '../models/local/lora-targets.ts'
import { isPreset } from '../models/local/presets.ts'
import { MODEL_PROVIDERS } from '../models/registry.ts'
import { checkCalls } from './calls.ts'
import { trains } from './checks.ts'
import { unreadKey } from './read.ts'

export function checkNew(config: Config, refuse: Refuse): void {
  checkLearns(config, refuse)
  checkTimes(config, refuse)
  checkCalls(config, refuse)
  checkRead(config, refuse)
  checkLogged(config, refuse)
  checkErrors(config, refuse)
  checkRewriting(config, refuse)
  checkPlayed(config, refuse)
}

/**
 * Refuses a config that claims what a new run would not do. Older runs called judges learning that nobody
 * trained, and learned from progress that nobody measured.
 */
function checkLearns(config: Config, refuse: Refuse): void {
  const { policy, rewardModel, models } = config
  const { openAi } = MODEL_PROVIDERS.find(rewardModel.provider, models.module) ?? {}
  if (openAi && rewardModel.mode === 'co-trained' && rewardModel.trainer === 'own')
    refuse(
      'rewardModel.mode',
      "'co-trained' is not for a judge behind an endpoint that nobody trains",
      'add --set rewardModel.trainer=external and start a trainer (docs/external-trainers.md), or --set rewardModel.mode=fixed',
    )
  const isOwn = rewardModel.form === 'estimate'
  if (trains(rewardModel, config) && rewardModel.mode !== 'off' && !isOwn && !trains(policy, config))
    refuse(
      'rewardModel.mode',
      'a local judge begins with the weights of a local policy, and there is none',
      'use rewardModel.provider openai, or --set rewardModel.mode=off',
    )
  const measured = ruleNeeding(config, 'progress') ?? ruleNeeding(config, 'falls')
  if (rewardModel.mode === 'off' && measured)
    refuse(
      'rewardModel.mode',
      `'off' measures no progress, and ${measured.key} is '${measured.name}': nothing would be learned`,
      'add --set rewardModel.mode=fixed --set rewardModel.provider=environment, or --set learning.reward=outcome',
    )
}

/** Refuses a rule that reads what the log of this run would lack. */
function checkLogged(config: Config, refuse: Refuse): void {
  const { policy, rewardModel, environment, models } = config
  const { entropies, baseLogprobs } = policy.expert
  const setting = settingOf(environment)
  const logged = [
    ['entropies', entropies, 'policy.entropies=true'],
    ['baseLogprobs', baseLogprobs, 'policy.baseLogprobs=true'],
    ['reference', environment.reference, 'environment.reference=true'],
    ['traced', environment.traces, 'environment.traces.file=FILE'],
    ['criteria', rewardModel.criteria, 'rewardModel.criteria=causes, or a list of criteria'],
  ] as const
  for (const [need, key, set] of logged) {
    const rule = key === undefined || key === false ? ruleNeeding(config, need) : null
    if (rule) refuse(rule.key, `'${rule.name}' reads what the log would not hold`, `add --set ${set}`)
  }
  const byRole = setting && setting.roles !== true ? ruleNeeding(config, 'roles') : null
  if (byRole)
    refuse(
      byRole.key,
      `'${byRole.name}' needs roles, and the setting '${environment.name}' has none`,
      'use advantage task, or a setting whose turns name a role',
    )
  if (rewardModel.oracle && (rewardModel.provider !== 'environment' || (setting && !setting.oracle)))
    refuse(
      'rewardModel.oracle',
      rewardModel.provider === 'environment'
        ? `the setting '${environment.name}' tells nothing of its true state`
        : `rewardModel.provider '${rewardModel.provider}' knows no true state`,
      'leave it out, or use rewardModel.provider environment with the setting alfworld',
    )
  if (environment.reference && setting && !setting.reference)
    refuse('environment.reference', `the setting '${environment.name}' knows no solutions`, 'leave it out')
  const { openAi } = MODEL_PROVIDERS.find(policy.provider, models.module) ?? {}
  if ((entropies || baseLogprobs) && openAi)
    refuse(
      `policy.expert.${entropies ? 'entropies' : 'baseLogprobs'}`,
      'an endpoint does not tell it',
      'use a local model, or leave it out',
    )
  checkCriteria(config, refuse)
}

/** Refuses errors of verdicts that nobody reads, or of a judge that makes its own. */
function checkErrors(config: Config, refuse: Refuse): void {
  const { rewardModel, learning, environment } = config
  if (!rewardModel.errors) return
  if (rewardModel.provider !== 'environment')
    refuse(
      'rewardModel.errors',
      `rewardModel.provider '${rewardModel.provider}' has errors of its own`,
      'leave it out, or use rewardModel.provider environment',
    )
  const isRead = ruleNeeding(config, 'verdicts') !== null || environment.branching === 'verdict'
  if (rewardModel.mode === 'off' || !isRead)
    refuse(
      'rewardModel.errors',
      `nobody reads the verdicts: rewardModel.mode is '${rewardModel.mode}', and learning.reward '${learning.reward}'`,
      'add --set learning.reward=integrated, with a judge whose mode is fixed',
    )
}

/** Refuses a key of rewriting that nobody would read. */
function checkRewriting({ environment, adaptation }: Config, refuse: Refuse): void {
  const setting = settingOf(environment)
  if (adaptation.skills && adaptation.rewriter === 'symbolic')
    refuse(
      'adaptation.skills',
      'rules are told nothing: it is for the rewriter language-model',
      'leave it out, or use adaptation.rewriter language-model',
    )
  for (const key of ['anyType', 'choice'] as const) {
    if (adaptation[key] === undefined) continue
    const path = `adaptation.${key}`
    if (setting && !setting.rewriting?.follows?.includes(key))
      refuse(path, `the rules of the setting '${environment.name}' do not follow it`, 'leave it out')
    else if (key === 'choice' && adaptation.rewriter !== 'symbolic')
      refuse(path, 'a language model chooses by itself', 'leave it out, or use adaptation.rewriter symbolic')
  }
}

/** Refuses ways of playing that the other keys leave no room for. */
function checkPlayed(config: Config, refuse: Refuse): void {
  const { run, environment, policy, rewardModel, learning, models } = config
  const { hints, starts, branching, groupSize, player } = environment
  const judged = rewardModel.mode !== 'off'
  const inside = branching !== undefined ? 'branching' : starts !== undefined ? 'starts' : null
  if (inside !== null && player === 'gateway')
    refuse(`environment.${inside}`, 'agents outside begin their own rollouts', 'leave it out')
  if (inside !== null && (environment.frames || policy.frames > 0))
    refuse(
      `environment.${inside}`,
      'screens before its start are not kept',
      'leave it out, or take no frames',
    )
  const { openAi } = MODEL_PROVIDERS.find(policy.provider, models.module) ?? {}
  if (inside !== null && run.steps !== undefined && openAi)
    refuse(
      'run.steps',
      `an endpoint does not tell at which step a rollout of environment.${inside} began`,
      'use run.iterations or run.minutes',
    )
  if (branching !== undefined && groupSize !== undefined)
    refuse('environment.branching', 'groups of other sizes do not branch', 'leave environment.groupSize out')
  if (branching === 'verdict' && !judged)
    refuse('environment.branching', 'nobody judges, so there is no verdict', 'use entropy or random')
  if (branching === 'entropy' && !policy.expert.entropies)
    refuse('environment.branching', 'the log would hold no entropies', 'add --set policy.entropies=true')
  if (hints && !judged) refuse('environment.hints', 'nobody judges, so there is no complaint', 'leave it out')
  checkTraces(config, refuse)
  const acting = settingOf(environment)?.acting
  const chooses = acting?.kind !== 'texts' && policy.acting === 'choices' && policy.provider === 'local'
  checkOutside({ environment, policy, learning }, chooses, refuse)
  if (hints && !chooses)
    refuse('environment.hints', 'only a local model that chooses commands is given hints', 'leave it out')
}

/** Refuses traces that other ways of playing leave no room for, and verdicts on actions that the policy did not choose. */
function checkTraces({ environment, rewardModel }: Config, refuse: Refuse): void {
  const { traces, player, branching, starts } = environment
  if (traces === undefined) return
  const key = 'environment.traces'
  if (player === 'gateway') refuse(key, 'agents outside choose their own actions', 'leave it out')
  if (branching !== undefined || starts !== undefined)
    refuse(key, 'a rollout follows a trace from its start', 'leave environment.branching and starts out')
  if (rewardModel.mode !== 'off')
    refuse(
      key,
      'a judge would read the recorded action where the policy chose another',
      'add --set rewardModel.mode=off --set learning.reward=traced',
    )
}

/** Refuses outside trajectories that nothing could learn from. */
function checkOutside(
  { environment, policy, learning }: Pick<Config, 'environment' | 'policy' | 'learning'>,
  chooses: boolean,
  refuse: Refuse,
): void {
  const { outside, outsideRule } = learning
  if (outsideRule !== undefined && outside === undefined)
    refuse('learning.outsideRule', 'there is no file that it could correct', 'add learning.outside')
  if (outside === undefined) return
  const key = 'learning.outside'
  if (!chooses || policy.trainer !== 'own' || environment.player === 'gateway')
    refuse(key, 'only a local policy that chooses commands learns from them', 'leave it out')
  if (policy.training.expert.mismatch)
    refuse(
      key,
      'policy.training.mismatch would measure log-probs that nobody sampled with',
      'name one of both',
    )
}

/** A local judge names causes. A judge that reads prompts is asked about each criterion of a list. */
function checkCriteria({ rewardModel, models }: Config, refuse: Refuse): void {
  const { criteria, mode, provider, samples } = rewardModel
  if (criteria === undefined) return
  const { openAi } = MODEL_PROVIDERS.find(provider, models.module) ?? {}
  const key = 'rewardModel.criteria'
  if (openAi && criteria === 'causes')
    refuse(key, "'causes' are those of a local judge", 'give a list of texts')
  if (!openAi && criteria !== 'causes')
    refuse(
      key,
      `the judge of provider '${provider}' reads no criteria`,
      'use causes, or rewardModel.provider openai',
    )
  if (openAi && mode === 'co-trained')
    refuse(key, 'the prompts of a step differ, so nothing could be trained', 'use rewardModel.mode fixed')
  if (criteria !== 'causes' && samples < criteria.length)
    refuse(
      'rewardModel.samples',
      `${samples} judgements for ${criteria.length} criteria`,
      'at least one for each',
    )
}

/** Refuses a key that nothing would read. */
function checkRead(config: Config, refuse: Refuse): void {
  const unread = unreadKey(config)
  if (unread) refuse(unread.path.join('.'), unread.message, unread.hint)
  const { policy, rewardModel, environment } = config
  const acting = settingOf(environment)?.acting
  const ofPreset = acting?.kind === 'texts' ? 'free' : 'choices'
  const isWrong = acting && policy.acting !== ofPreset && policy.acting !== 'choices'
  if (trains(policy, config) && isPreset(policy.model) && isWrong)
    refuse(
      'policy.acting',
      `'${policy.acting}' is for models that read prompts, and '${policy.model}' is trained from scratch`,
      `use ${ofPreset}, or a folder as policy.model`,
    )
  checkForm(config, refuse)
  const opened: readonly string[] = [DEFAULT_MODEL, policy.model]
  if (trains(rewardModel, config) && rewardModel.form !== 'estimate' && !opened.includes(rewardModel.model))
    refuse(
      'rewardModel.model',
      `'${rewardModel.model}' would not be opened: a local judge begins with the weights of the policy`,
      'leave it out, or judge by an endpoint: rewardModel.provider openai; a judge of the form estimate may begin with a folder',
    )
  const ours: readonly string[] = LORA_TARGETS
  const target = policy.lora.expert.targets.find((name) => !ours.includes(name.split('.').at(-1) ?? ''))
  if (policy.lora.rank !== null && target !== undefined)
    refuse('policy.lora.targets', `no module is named ${target}`, `choose from ${LORA_TARGETS.join(', ')}`)
  if (environment.data !== null && environment.source !== 'data' && environment.module === null)
    refuse(
      'environment.data',
      `'${environment.data}' would not be read: environment.source is ${environment.source}`,
      'add --set environment.source=data, or leave it out',
    )
}

/** Keys of the start of a judge that only one form of judgement reads. */
function checkForm({ rewardModel: { form, mode, coldStart } }: Config, refuse: Refuse): void {
  const { expertRollouts, ownRollouts } = coldStart.expert
  if (form === 'estimate' || mode === 'off' || (expertRollouts ?? ownRollouts) === undefined) return
  refuse(
    `rewardModel.coldStart.expert.${expertRollouts === undefined ? 'ownRollouts' : 'expertRollouts'}`,
    'is read by judges that estimate alone',
    'add --set rewardModel.form=estimate, or leave it out',
  )
}

/** Node timers fire at once above 2^31 ms (24.8 days), and some of our timers wait for twice the configured time. */
const MAX_SECONDS = 1_000_000

function checkTimes(config: Config, refuse: Refuse): void {
  const visit = (value: unknown, path: string): void => {
    if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) visit(inner, `${path}.${key}`)
    if (typeof value !== 'number' || value <= MAX_SECONDS || !path.endsWith('Seconds')) return
    refuse(
      path,
      `${value} is more than ${MAX_SECONDS} seconds`,
      'that is eleven days; nothing can be waited for longer',
    )
  }
  visit(config.run, 'run')
  visit(config.policy.publish, 'policy.publish')
  visit(config.rewardModel.publish, 'rewardModel.publish')
}
