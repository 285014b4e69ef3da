/** Keys that nothing reads in a run as it is configured: a table of what each is read for, beside the defaults. */
import { settingOf } from '../environments/settings.ts'
import { LORA_TARGETS } from '../models/local/lora-targets.ts'
import { isPreset } from '../models/local/presets.ts'
import { MODEL_PROVIDERS } from '../models/registry.ts'
import { presentPath } from './renamed.ts'
import { type Config, configSchema } from './schema.ts'

export type Unread = { readonly path: readonly string[]; readonly message: string; readonly hint: string }

type Section = 'policy' | 'rewardModel' | 'adaptation'

/** Some keys, all of one section or below it, and when they are read. */
type Rule = {
  readonly path: readonly string[]
  readonly keys: readonly string[]
  readonly read: boolean
  readonly message: string
  readonly hint: string
}

/** Of calls. What says how a model is sampled or trained is read of every one; `apiKeyEnv` names a secret whoever uses it. */
const OF_CALLS = [
  ...['baseUrl', 'windowTokens', 'extraBody', 'reasoningEffort', 'sendSeed', 'concurrency', 'maxCalls'],
  ...['promptPrice', 'completionPrice', 'trainReasoning'],
]

const DEFAULTS: Config = configSchema.parse({})

/** The first key that says something else than its default and that nothing would read. */
export function unreadKey(config: Config): Unread | null {
  for (const { path, keys, read, message, hint } of rulesOf(config)) {
    if (read) continue
    const [said, usual] = [at(config, path), at(DEFAULTS, path)]
    const key = keys.find((name) => JSON.stringify(said[name]) !== JSON.stringify(usual[name]))
    if (key !== undefined) return { path: presentPath([...path, key]), message, hint }
  }
  return null
}

function rulesOf(config: Config): Rule[] {
  const { policy, rewardModel } = config
  const on = { policy: placeOf('policy', config), judge: placeOf('rewardModel', config) }
  const preset = on.policy === 'here' && isPreset(policy.model)
  const released = on.policy === 'here' && !preset
  const chooses = policy.acting === 'choices'
  const judges = rewardModel.mode !== 'off'
  const acting = settingOf(config.environment)?.acting
  const ofPreset = acting?.kind === 'texts' ? 'free' : 'choices'
  const scripted = on.policy === 'nowhere'
  const adapts = released && policy.lora.rank !== null
  const folder = adapts
    ? 'a folder that writes texts'
    : 'a folder whose weights all learn: it begins as it is'
  const untaught = released ? folder : 'an endpoint'
  return [
    ...(['policy', 'rewardModel', 'adaptation'] as const).flatMap((name) => ofCalls(name, config)),
    {
      path: ['policy'],
      keys: ['acting'],
      read: !preset || !acting || policy.acting === ofPreset,
      message: `'${policy.acting}' is for models that read prompts, and '${policy.model}' is trained from scratch`,
      hint: `use ${ofPreset}, or a folder as policy.model`,
    },
    {
      path: ['policy'],
      keys: ['thinking'],
      read: released && !chooses,
      message:
        on.policy === 'here'
          ? 'is told to local models that act by prompts alone'
          : 'is told to local models alone',
      hint:
        on.policy === 'here'
          ? 'leave it out, or use policy.acting numbered or free with a folder as policy.model'
          : 'use policy.template: { enable_thinking: ... }',
    },
    {
      path: ['policy'],
      keys: ['historySteps'],
      read: on.policy === 'elsewhere' || (released && !chooses) || (judges && on.judge === 'elsewhere'),
      message: 'is of prompts, and nobody is asked by any',
      hint: 'leave it out: where commands are chosen an episode is one sequence',
    },
    {
      path: ['policy'],
      keys: ['contextTokens'],
      read: preset || (released && chooses) || scripted,
      message: 'bounds episodes where commands are chosen, and here prompts are answered',
      hint: released
        ? "leave it out: a prompt has the model's own context, as far as policy.cacheMegabytes holds it"
        : 'policy.windowTokens is the context of an endpoint',
    },
    {
      path: ['policy', 'lora'],
      keys: ['rank', 'alpha', 'targets'],
      read: released || scripted,
      message: preset
        ? `an adapter stands on a folder, and '${policy.model}' is trained from scratch`
        : 'an adapter is trained on local models alone',
      hint: 'leave it out',
    },
    {
      path: ['policy', 'lora'],
      keys: ['alpha', 'targets'],
      read: policy.lora.rank !== null,
      message: 'is of an adapter, and there is none',
      hint: 'add e.g. --set policy.lora.rank=16',
    },
    {
      path: ['policy', 'coldStart'],
      keys: Object.keys(at(DEFAULTS, ['policy', 'coldStart'])),
      read: preset || (adapts && acting?.kind !== 'texts') || scripted,
      message: `nothing is demonstrated to ${untaught}`,
      hint: released && !adapts ? 'leave it out, or add e.g. --set policy.lora.rank=16' : 'leave it out',
    },
    {
      path: ['rewardModel', 'coldStart'],
      keys: Object.keys(at(DEFAULTS, ['rewardModel', 'coldStart'])),
      read: on.judge !== 'elsewhere' || !judges,
      message: 'nothing is taught to an endpoint before the run',
      hint: 'leave it out',
    },
    ...(['policy', 'rewardModel'] as const).map((name) => ({
      path: [name, 'training'],
      keys: ['constantTokens'],
      read: config[name].training.aggregate === 'constant',
      message: `is read by aggregate: constant alone, and it is ${config[name].training.aggregate}`,
      hint: `add --set ${name}.training.aggregate=constant, or leave it out`,
    })),
  ]
}

function ofCalls(name: Section, config: Config): Rule[] {
  const read = placeOf(name, config) !== 'here'
  const message = 'is told to endpoints alone, and the model is local'
  return [
    { path: [name], keys: OF_CALLS, read, message, hint: 'leave it out' },
    {
      ...{ path: [name], keys: ['template'], read, message },
      hint: 'policy.thinking is the switch of a local policy',
    },
  ]
}

/** Where the model of a section is: in this process, behind an endpoint, or nowhere: a simulation stands in for any of them. */
function placeOf(section: Section, config: Config): 'here' | 'elsewhere' | 'nowhere' {
  const provider = MODEL_PROVIDERS.find(config[section].provider, config.models.module)
  if (provider?.trains) return 'here'
  return provider?.simulated ? 'nowhere' : 'elsewhere'
}

/** A target of `policy.lora` that no model here has as a module. */
export function unknownTarget({ expert: { targets } }: Config['policy']['lora']): string | undefined {
  const ours: readonly string[] = LORA_TARGETS
  return targets.find((target) => !ours.includes(target.split('.').at(-1) ?? ''))
}

function at(config: Config, path: readonly string[]): Readonly<Record<string, unknown>> {
  const section = path.reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], config)
  const { expert, ...usual } = section as Readonly<Record<string, unknown>>
  return { ...usual, ...(expert as object) }
}
