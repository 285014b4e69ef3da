/** What a config must make sense of beyond the types of its keys. */
import { sectionOf } from '../environments/sections.ts'
import type { Refuse, Setting } from '../environments/setting.ts'
import { settingNames, unknownSetting } from '../environments/settings.ts'
import { RlError } from '../errors.ts'
import { wrongRule } from '../learning/registry.ts'
import { LORA_TARGETS } from '../models/local/lora-targets.ts'
import { MODEL_PROVIDERS, wrongProvider } from '../models/registry.ts'
import { presentPath } from './renamed.ts'
import { DEFAULT_MODEL } from './schema/endpoint.ts'
import type { Config } from './schema.ts'
import type { OriginOf } from './sources.ts'
import { unknownTarget, unreadKey } from './unread.ts'

/** Refuses a key by the place that its value comes from. */
export const refusing =
  (origin: OriginOf): Refuse =>
  (path, message, hint) => {
    throw new RlError(`${origin(path.split('.'))}: ${path}: ${message}`, { code: 'config.invalid', hint })
  }

/** Every check of a config that may be replayed: those of its setting as well, where that is known. */
export function checkConfig(config: Config, setting: Setting | undefined, origin: OriginOf): void {
  const refuse = refusing(origin)
  checkDeadlines(config, refuse)
  const { name, module } = config.environment
  if (!setting && module === null && !settingNames().includes(name)) {
    const { message, hint } = unknownSetting(name)
    refuse('environment.name', message, hint ?? '')
  }
  checkSense(config, refuse)
  if (setting) checkSeeing(setting, config, refuse)
  if (setting && !setting.simulated) checkParts(setting, config, refuse)
  if (setting?.judging?.by === 'tests' && config.rewardModel.mode !== 'off')
    if (config.rewardModel.judging !== 'group')
      refuse(
        'rewardModel.judging',
        `'${config.rewardModel.judging}' is not for a setting that is judged by tests`,
        'use group: a test is run on all rollouts of a task',
      )
  setting?.check?.(config, refuse, sectionOf(setting, config))
}

/** Not asked of configs in logs: those are replayed, nothing waits and nothing is learned. */
export function checkNew(config: Config, origin: OriginOf): void {
  checkLearns(config, origin(['rewardModel', 'mode']))
  checkTimes(config, origin)
  checkAddresses(config, origin)
  checkRead(config, origin)
  checkExtraBody(config, origin)
  checkUnrestricted(config, origin)
}

/** Whether a section's model is one of this process, whose weights can be changed. */
function trains({ provider }: { readonly provider: string }, { models }: Config): boolean {
  return MODEL_PROVIDERS.find(provider, models.module)?.trains === true
}

/** The sections whose models are asked over HTTP by our own client. */
function calledSections(config: Config) {
  const { policy, rewardModel, adaptation, models } = config
  return Object.entries({ policy, rewardModel, adaptation }).filter(
    ([, { provider }]) => MODEL_PROVIDERS.find(provider, models.module)?.openAi === true,
  )
}

/** What a config says and nothing would read. */
function checkRead(config: Config, origin: OriginOf): void {
  const refuse = (path: readonly string[], message: string, hint: string) => {
    throw new RlError(`${origin(path)}: ${path.join('.')}: ${message}`, { code: 'config.invalid', hint })
  }
  const unread = unreadKey(config)
  if (unread) refuse(unread.path, unread.message, unread.hint)
  const { policy, rewardModel, environment } = config
  if (trains(rewardModel, config) && ![DEFAULT_MODEL, policy.model].includes(rewardModel.model))
    refuse(
      ['rewardModel', 'model'],
      `'${rewardModel.model}' would not be opened: a local judge begins with the weights of the policy`,
      'leave it out, or judge by an endpoint: rewardModel.provider openai',
    )
  const target = policy.lora.rank === null ? undefined : unknownTarget(policy.lora)
  if (target !== undefined)
    refuse(
      ['policy', 'lora', 'expert', 'targets'],
      `no module is named ${target}`,
      `choose from ${LORA_TARGETS.join(', ')}`,
    )
  if (environment.data !== null && environment.source !== 'data' && environment.module === null)
    refuse(
      ['environment', 'data'],
      `'${environment.data}' would not be read: environment.source is ${environment.source}`,
      'add --set environment.source=data, or leave it out',
    )
}

/** Fields of a request without which an answer is not read as one, or not as the one that was asked for. */
const OF_CALLS: ReadonlySet<string> = new Set([
  ...['messages', 'prompt', 'input', 'stream', 'stream_options', 'n', 'best_of', 'echo'],
  ...['tools', 'return_token_ids', 'logprobs', 'seed_words'],
])

/** Fields that have a key, in the sections that have it. */
const OF_KEYS: Readonly<Record<string, string>> = {
  ...{ model: 'model', temperature: 'temperature', top_p: 'topP', seed: 'sendSeed' },
  ...{ max_tokens: 'maxTokens', max_completion_tokens: 'maxTokens' },
  ...{ reasoning_effort: 'reasoningEffort', chat_template_kwargs: 'template' },
}

function checkExtraBody(config: Config, origin: OriginOf): void {
  for (const [name, section] of calledSections(config)) {
    const keyOf = (field: string) =>
      OF_KEYS[field] in { ...section, ...section.expert } ? OF_KEYS[field] : undefined
    const field = Object.keys(section.expert.extraBody).find(
      (one) => OF_CALLS.has(one) || keyOf(one) !== undefined,
    )
    if (field === undefined) continue
    const key = keyOf(field)
    throw new RlError(
      `${origin([name, 'expert', 'extraBody', field])}: ${name}.expert.extraBody: '${field}' is set by the call itself`,
      {
        code: 'config.invalid',
        hint: key ? `use ${presentPath([name, key]).join('.')}` : `leave ${field} out`,
      },
    )
  }
}

/** Fields of a request by which servers restrict what is sampled: log-probs are then over another set than those of a trainer. */
const RESTRICTING =
  /^(guided_(choice|json|regex|grammar)|structured_outputs|response_format|choice_token_ids|regex|json_schema|ebnf|grammar)$/

function checkUnrestricted({ policy, rewardModel }: Config, origin: OriginOf): void {
  const trained = { policy, ...(rewardModel.mode === 'co-trained' ? { rewardModel } : {}) }
  for (const [name, { trainer, expert }] of Object.entries(trained)) {
    const field = Object.keys(expert.extraBody).find((key) => RESTRICTING.test(key))
    if (trainer !== 'external' || field === undefined) continue
    throw new RlError(
      `${origin([name, 'expert', 'extraBody'])}: ${name}.expert.extraBody: '${field}' restricts what is sampled, and a trainer outside takes log-probs over all tokens`,
      { code: 'config.invalid', hint: `leave ${field} out, or train nothing: ${name}.trainer own` },
    )
  }
}

/** Timers of Node take 2^31 ms and end at once where they are given more; some of ours wait for twice of what is said here. */
const MOST_SECONDS = 1_000_000

function checkTimes(config: Config, origin: OriginOf): void {
  const visit = (value: unknown, path: readonly string[]): void => {
    if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) visit(inner, [...path, key])
    if (typeof value !== 'number' || value <= MOST_SECONDS || !/Seconds$/.test(path.at(-1) ?? '')) return
    throw new RlError(`${origin(path)}: ${path.join('.')}: ${value} is more than ${MOST_SECONDS} seconds`, {
      code: 'config.invalid',
      hint: 'that is eleven days; nothing can be waited for longer',
    })
  }
  visit(config.run, ['run'])
  for (const section of ['policy', 'rewardModel'] as const)
    visit(config[section].publish, [section, 'publish'])
}

/** `localhost:8000/v1` is a URL too, whose scheme is `localhost`. The address is not shown: it may hold a password. */
function checkAddresses(config: Config, origin: OriginOf): void {
  for (const [name, section] of calledSections(config)) {
    const replicas = 'publish' in section ? section.publish.replicas : []
    const wrong = [
      ...(section.baseUrl === null ? [] : [{ key: ['baseUrl'], url: section.baseUrl }]),
      ...replicas.map((url, index) => ({ key: ['publish', 'replicas', `${index}`], url })),
    ].find(({ url }) => !/^https?:\/\//i.test(url))
    if (!wrong) continue
    const path = [name, ...wrong.key]
    throw new RlError(`${origin(path)}: ${path.join('.')}: is no address with http:// or https://`, {
      code: 'config.invalid',
      hint: 'write it as http://localhost:8000/v1',
    })
  }
}

/** What a run would not do although its config says so. Older runs said of judges that nobody trained that they learn, and learned from progress that nobody measured. */
function checkLearns(config: Config, origin: string): void {
  const { policy, rewardModel, learning, models } = config
  const refuse = (message: string, hint: string) => {
    throw new RlError(`${origin}: rewardModel.mode: ${message}`, { code: 'config.invalid', hint })
  }
  const { openAi } = MODEL_PROVIDERS.find(rewardModel.provider, models.module) ?? {}
  if (openAi && rewardModel.mode === 'co-trained' && rewardModel.trainer === 'own')
    refuse(
      "'co-trained' is not for a judge behind an endpoint that nobody trains",
      'add --set rewardModel.trainer=external and start a trainer (docs/external-trainers.md), or --set rewardModel.mode=fixed',
    )
  if (trains(rewardModel, config) && rewardModel.mode !== 'off' && !trains(policy, config))
    refuse(
      'a local judge begins with the weights of a local policy, and there is none',
      'use rewardModel.provider openai, or --set rewardModel.mode=off',
    )
  if (rewardModel.mode === 'off' && learning.reward === 'progress')
    refuse(
      "'off' measures no progress, and learning.reward is 'progress': nothing would be learned",
      'add --set rewardModel.mode=fixed, or --set learning.reward=outcome',
    )
}

/** One budget of time: what is inside must end before what is around it, or a late scorer finds a dead worker. */
function checkDeadlines({ run: { deadlines } }: Config, refuse: Refuse): void {
  const order = ['llmCallSeconds', 'stepSeconds', 'rolloutSeconds', 'scoringSeconds'] as const
  for (let i = 1; i < order.length; i++) {
    const [inner, outer] = [order[i - 1], order[i]]
    if (deadlines[inner] >= deadlines[outer])
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
  const seeing = setting.pictures?.seeing(sectionOf(setting, config)) ?? null
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
  if (!Object.hasOwn(environment.splits, 'train'))
    refuse('environment.splits', "has no 'train'", 'add e.g. `train: train`')
  for (const split of evaluation.splits)
    if (split === 'train' || !Object.hasOwn(environment.splits, split))
      refuse(
        'evaluation.splits',
        `'${split}' is not an evaluation split`,
        `environment.splits has ${Object.keys(environment.splits).join(', ')}; train is never evaluated on`,
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
  // What a user's module has is known when it is loaded.
  const wrongs = [
    learning.module === null ? wrongRule(config) : null,
    models.module === null ? wrongProvider(config) : null,
  ]
  for (const wrong of wrongs) if (wrong) refuse(wrong.key, wrong.message, wrong.hint)
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

/** A part that the setting lacks is told before anything starts. */
function checkParts(setting: Setting, { environment, rewardModel, learning }: Config, refuse: Refuse): void {
  const lacks = (part: string) => `the setting '${setting.name}' has no ${part}`
  if (!setting.acting && environment.player === 'own')
    refuse('environment.player', lacks('acting'), 'use player gateway: agents outside play it')
  if (!setting.judging && rewardModel.mode !== 'off')
    refuse(
      'rewardModel.mode',
      lacks('judging'),
      'add --set rewardModel.mode=off --set learning.reward=outcome',
    )
  if (!setting.progress && learning.reward === 'progress')
    refuse('learning.reward', lacks('progress'), 'use outcome or integrated')
}
