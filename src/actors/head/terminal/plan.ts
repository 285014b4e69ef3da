/** One screen with the plan of a run. */
import { relative } from 'node:path'
import type { RunFolder } from '../../../broker/connection.ts'
import { WIDTH, wrap } from '../../../columns.ts'
import { type Config, configDigest } from '../../../config.ts'
import type {
  AdaptationConfig,
  EnvironmentConfig,
  PolicyConfig,
  RewardModelConfig,
  RunConfig,
} from '../../../config-schema/sections.ts'
import { settingOf } from '../../../environments/settings.ts'
import { type HubCopy, sizeAndLicence } from '../../../models/hub-folder.ts'
import type { ModelProvider } from '../../../models/provider.ts'
import { providerOf } from '../../../models/registry.ts'
import { plannedIterations } from '../../planned-iterations.ts'
import type { StartOptions } from '../../start-options.ts'

export type Plan = {
  readonly run: string
  readonly folder: RunFolder
  readonly config: Config
  readonly resumed: boolean
  readonly options: StartOptions
  /** The tensor backend and the reason for it. Null if no local model is used. */
  readonly backend: string | null
  /** The policy's model if it is named as on a hub. */
  readonly hub: HubCopy | null
  /** The runtime of tasks and the reason for it. Null if tasks need none, or run elsewhere. */
  readonly runtime: string | null
}

export function planLines({
  run,
  folder,
  config,
  resumed,
  options,
  backend,
  hub,
  runtime,
}: Plan): readonly string[] {
  const { environment, policy, rewardModel, learning, evaluation } = config
  const isOpen = plannedIterations(config.run) === null
  const rows: readonly (readonly [string, string])[] = [
    ['run', `${run}${resumed ? ' (goes on where its log ends)' : ''}, seed ${config.run.seed}`],
    [
      'config',
      `${resumed ? 'that of the log' : options.config}, digest ${configDigest(config).slice(0, 12)}`,
    ],
    ['folder', relative('', folder.folder) || folder.folder],
    [
      'loop',
      `${iterationsText(config.run)} of ${environment.tasksPerIteration} tasks x ${environment.rolloutsPerTask} rollouts; staleness up to ${config.run.maxStaleness}`,
    ],
    ['tasks', taskText(environment)],
    [
      'policy',
      `${modelText(policy)}${hubText(hub)}${policy.frames > 0 ? `, shown the last ${policy.frames} screens` : ''}`,
    ],
    [
      'reward model',
      rewardModel.mode === 'off'
        ? 'off'
        : `${judgeText(rewardModel, providerOf(rewardModel, config))}, ${rewardModel.mode}, ${rewardModel.samples} judgement${rewardModel.samples === 1 ? '' : 's'} a step${rewardModel.frames ? ', shown the screens around it' : ''}`,
    ],
    ['backend', backend ?? 'none: no local model'],
    ...(runtime === null ? [] : [['runs in', runtime] as const]),
    ['learning', `${learning.reward} reward, lambda ${learning.lambda}, ${learning.advantage} advantages`],
    ['adaptation', adaptationText(config.adaptation, environment)],
    [
      'evaluation',
      evaluation.splits.length === 0
        ? 'none'
        : `${evaluation.splits.join(', ')} (${evaluation.tasks ?? 'all'} tasks each) at the start${isOpen ? '' : `, every ${config.run.evaluateEvery} iterations`} and at the end`,
    ],
    [
      'broker',
      options.nats === null
        ? options.cluster === null
          ? 'a nats-server of its own on loopback, random port, a user a role'
          : `a nats-server of its own at ${options.cluster}, TLS, a key a host`
        : 'the one that --nats names',
    ],
    ...(options.dryRun ? [] : [['figures', `npm run -s rl -- projections ${run} show`] as const]),
    ['roles here', options.roles.length === 0 ? 'none: start them elsewhere' : options.roles.join(', ')],
  ]
  return ['', ...rows.flatMap(([name, text]) => inColumns(name, text)), '']
}

const INDENT = 15

/** Returns a name and its text, wrapped between words. */
export function inColumns(name: string, text: string): string[] {
  const lines = wrap(text, WIDTH - INDENT)
  return lines.map((line, index) => `  ${(index === 0 ? name : '').padEnd(INDENT - 2)}${line}`)
}

function iterationsText({ minutes, steps, iterations }: RunConfig): string {
  if (minutes === undefined && steps === undefined) return `${iterations} iterations`
  const room = [minutes && `${minutes} minutes`, steps && `${steps} steps`].filter(Boolean).join(' and ')
  return `as many iterations as fit into ${room},`
}

function hubText(hub: HubCopy | null): string {
  if (hub === null) return ''
  const { folder, missing, told } = hub
  const place = relative('', folder)
  return ` (${told ? `${sizeAndLicence(told)}, ` : ''}${missing ? 'to be fetched into' : 'in'} ${place})`
}

/** Describes the rewriting. A setting without a part for it has no rewrites, whatever the config says. */
function adaptationText(
  { enabled, rewriter, low, high, evidence }: AdaptationConfig,
  environment: EnvironmentConfig,
): string {
  if (!enabled) return 'off'
  const setting = settingOf(environment)
  if (setting && !setting.rewriting && !setting.simulated)
    return `none: the setting '${setting.name}' has no rewriting`
  return `${rewriter} rewrites at accuracy <= ${low} and >= ${high}, accepted by ${evidence} evidence`
}

function taskText({ name, source, data, tasks, difficulty, maxSteps }: EnvironmentConfig): string {
  const from = source === 'data' ? `from ${data}` : `generated, ${difficulty}`
  return `${name}, ${from}, ${tasks ?? 'all'} for training, up to ${maxSteps} steps an episode`
}

/** Describes the judge. A local judge begins with the policy's model, but for one that estimates. */
function judgeText(rewardModel: RewardModelConfig, { trains, measures }: ModelProvider): string {
  if (measures) return "the setting's own estimate"
  if (!trains) return modelText(rewardModel)
  const start =
    rewardModel.form === 'estimate' ? 'a model that estimates what remains' : 'begun from the policy'
  return `${rewardModel.provider}, ${start}`
}

function modelText({
  provider,
  model,
  baseUrl,
}: Pick<PolicyConfig, 'provider' | 'model' | 'baseUrl'>): string {
  return `${provider} ${model}${baseUrl === null ? '' : ` at ${baseUrl}`}`
}
