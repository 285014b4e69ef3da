/** A run's configuration: YAML file, then environment variables, then `--set`; checked, completed and frozen. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Document, isMap, LineCounter, parse, parseDocument } from 'yaml'
import type { z } from 'zod'
import { type ConfigKey, configKeys, variableOf } from './config/keys.ts'
import { nearest } from './config/nearest.ts'
import { formerPaths, presentPath, withPresentNames } from './config/renamed.ts'
import { type Config, configSchema } from './config/schema.ts'
import { schemaWith, sectionIn, settingIn } from './config/with-setting.ts'
import { sectionOf } from './environments/sections.ts'
import type { Refuse, Setting } from './environments/setting.ts'
import { isOurs, loadSetting, OUR_SETTINGS } from './environments/settings.ts'
import { explain, RlError } from './errors.ts'
import { wrongRule } from './learning/registry.ts'
import { MODEL_PROVIDERS, wrongProvider } from './models/registry.ts'
import { findFile } from './package.ts'

export type { Config } from './config/schema.ts'

export type ConfigSources = {
  /** YAML file; without one all keys have their defaults. */
  readonly file?: string
  /** `a.b=value` words as of `--set`; the value is YAML. They win over all else. */
  readonly set?: readonly string[]
  /** `RL_RUN_SEED=3` sets `run.seed`. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Where the value of a path comes from, for error messages. */
type Origins = Map<string, string>

/** Reads, merges and checks a configuration. Every error names the source, the key and, where there is one, the nearest right key. */
export function loadConfig({ file, set = [], env = {} }: ConfigSources): Config {
  const origins: Origins = new Map()
  const values = file === undefined ? {} : readYaml(file, origins)
  for (const [path, text, origin] of variables(env)) assign(values, path, text, origin, origins)
  assignWords(values, set, origins)
  placeModule(values, file)
  const origin = (path: readonly PropertyKey[]) => originOf(path, origins) ?? file ?? 'config'
  const config = parseConfig(values, origin)
  checkLearns(config, origin(['rewardModel', 'mode']))
  checkTimes(config, origin)
  return config
}

/** Timers of Node take 2^31 ms and end at once where they are given more; some of ours wait for twice of what is said here. */
const MOST_SECONDS = 1_000_000

/** Not asked of configs in logs: those are replayed, and nothing waits. */
function checkTimes(config: Config, origin: (path: readonly PropertyKey[]) => string): void {
  const visit = (value: unknown, path: readonly string[]): void => {
    if (isRecord(value)) for (const [key, inner] of Object.entries(value)) visit(inner, [...path, key])
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

/**
 * What a new run would not do although its config says so. Not asked of configs in logs: older runs said of judges that nobody trained
 * that they learn, and learned from progress that nobody measured.
 */
function checkLearns({ rewardModel, learning, models }: Config, origin: string): void {
  const refuse = (message: string, hint: string) => {
    throw new RlError(`${origin}: rewardModel.mode: ${message}`, { code: 'config.invalid', hint })
  }
  const { openAi } = MODEL_PROVIDERS.find(rewardModel.provider, models.module) ?? {}
  if (openAi && rewardModel.mode === 'co-trained' && rewardModel.trainer === 'own')
    refuse(
      "'co-trained' is not for a judge behind an endpoint that nobody trains",
      'add --set rewardModel.trainer=external and start a trainer (docs/external-trainers.md), or --set rewardModel.mode=fixed',
    )
  if (rewardModel.mode === 'off' && learning.reward === 'progress')
    refuse(
      "'off' measures no progress, and learning.reward is 'progress': nothing would be learned",
      'add --set rewardModel.mode=fixed, or --set learning.reward=outcome',
    )
}

/** As `loadConfig`, for whoever may meet a setting that is not ours: its module is loaded first, so that its keys are checked. */
export async function openConfig(sources: ConfigSources): Promise<Config> {
  const { environment } = loadConfig(sources)
  await loadSetting(environment)
  return loadConfig(sources)
}

/** The config in a RunStarted of any age: keys that have gone since then are dropped. */
export function loggedConfig(values: unknown): Config {
  const current = withPresentNames(structuredClone(values))
  const known = schemaWith(settingIn(current)).safeParse(current)
  for (const issue of known.error?.issues ?? []) {
    if (issue.code !== 'unrecognized_keys') continue
    const parent = issue.path.reduce(
      (part: unknown, name) => (isRecord(part) ? part[String(name)] : null),
      current,
    )
    if (isRecord(parent)) for (const key of issue.keys) delete parent[key]
  }
  return parseConfig(current)
}

/** A module that is named by a relative path lies beside the config file, else in the working folder; its processes may start elsewhere. */
function placeModule(values: Record<string, unknown>, file: string | undefined): void {
  const section = sectionIn(values)
  if (typeof section?.module !== 'string' || !section.module.startsWith('.')) return
  const beside = file === undefined ? null : resolve(dirname(file), section.module)
  section.module = beside !== null && existsSync(beside) ? beside : resolve(section.module)
}

/** A config with some keys changed by `a.b=value` words as of `--set`. */
export function changeConfig(config: Config, set: readonly string[]): Config {
  const origins: Origins = new Map()
  const values: Record<string, unknown> = structuredClone(config)
  assignWords(values, set, origins)
  return parseConfig(values, (path) => originOf(path, origins) ?? 'config')
}

function assignWords(values: Record<string, unknown>, set: readonly string[], origins: Origins): void {
  for (const word of set) {
    const [, path, text] = /^([^=]+)=(.*)$/s.exec(word) ?? []
    if (path === undefined)
      throw new RlError(`--set ${word} has no '='`, { code: 'config.usage', hint: 'write --set run.seed=3' })
    assign(values, path.split('.'), text, `--set ${path}`, origins)
  }
}

/** Checks an object that came from elsewhere, e.g. from the event RunStarted. */
export function parseConfig(
  values: unknown,
  origin: (path: readonly PropertyKey[]) => string = () => 'config',
): Config {
  const named = withPresentNames(values)
  const setting = settingIn(named)
  const section = sectionIn(named)
  if (setting && section && typeof section.module === 'string') section.name = setting.name
  const parsed = schemaWith(setting).safeParse(named)
  if (!parsed.success) throw issueError(parsed.error.issues[0], origin, setting)
  const config = parsed.data
  const refuse: Refuse = (path, message, hint) => {
    throw new RlError(`${origin(path.split('.'))}: ${path}: ${message}`, { code: 'config.invalid', hint })
  }
  checkDeadlines(config, refuse)
  if (!setting && config.environment.module === null)
    refuse(
      'environment.name',
      `there is no setting '${config.environment.name}'`,
      `ours are ${OUR_SETTINGS.map(({ name }) => name).join(', ')}; environment.module names another's`,
    )
  checkSense(config, refuse)
  if (setting) checkSeeing(setting, config, refuse)
  if (setting && !isOurs(setting)) checkParts(setting, config, refuse)
  if (setting?.judging?.by === 'tests' && config.rewardModel.mode !== 'off')
    if (config.rewardModel.judging !== 'group')
      refuse(
        'rewardModel.judging',
        `'${config.rewardModel.judging}' is not for a setting that is judged by tests`,
        'use group: a test is run on all rollouts of a task',
      )
  setting?.check?.(config, refuse)
  return deepFreeze(config)
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
  const { environment, policy, rewardModel, models } = config
  const trains = (provider: string) => MODEL_PROVIDERS.find(provider, models.module)?.trains === true
  const wishes = [
    ['environment.frames', environment.frames, false],
    ['policy.frames', policy.frames > 0, trains(policy.provider)],
    ['rewardModel.frames', rewardModel.frames && rewardModel.mode !== 'off', trains(rewardModel.provider)],
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
      'add --set environment.grammar=computer_use',
    )
  if (policy.frames === 0 && seeing !== null && environment.player === 'own')
    refuse(
      'policy.frames',
      'actions are places on a screen, and the policy sees none',
      'add --set policy.frames=3 with a model that sees, or environment.grammar=commands',
    )
}

function checkSense(config: Config, refuse: Refuse): void {
  const { environment, adaptation, learning, rewardModel, evaluation, run, policy, models } = config
  const { trains } = MODEL_PROVIDERS.find(policy.provider, models.module) ?? {}
  if (policy.logprobs === 'sampling' && !trains)
    refuse(
      'policy.logprobs',
      `'sampling' needs a local model: ${policy.provider} tells log-probs of temperature 1`,
      'use model, or policy.provider local',
    )
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
    ['learning.policyAccuracyRange', learning.policyAccuracyRange],
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
  if (publish.keep <= run.maxStaleness)
    refuse(
      `${name}.publish.keep`,
      `${publish.keep} is not more than run.maxStaleness (${run.maxStaleness})`,
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

/** A part that the setting lacks is told before anything starts. Ours check themselves what they lack. */
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

/** The config as it may be shown and logged: no passwords in addresses. API keys stand in no config. */
export function redact(config: Config): Record<string, unknown> {
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(/(\w+:\/\/)[^/\s]+@/g, '$1[redacted]@')
    if (Array.isArray(value)) return value.map(clean)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, clean(inner)]))
  }
  return clean(config) as Record<string, unknown>
}

/** SHA-256 over the redacted config as JSON with sorted keys. */
export function configDigest(config: Config): string {
  return createHash('sha256')
    .update(canonical(redact(config)))
    .digest('hex')
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`
}

function readYaml(file: string, origins: Origins): Record<string, unknown> {
  let text: string
  try {
    text = readFileSync(findFile(file), 'utf8')
  } catch (cause) {
    throw new RlError(`config file '${file}' cannot be read`, {
      code: 'config.file',
      hint: 'the ready ones are under config/',
      cause,
    })
  }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const [broken] = document.errors
  if (broken)
    throw new RlError(`${file}:${lines.linePos(broken.pos[0]).line}: ${broken.message.split('\n')[0]}`, {
      code: 'config.yaml',
    })
  if (document.contents === null) return {}
  const note = (node: unknown, path: readonly string[]) => {
    if (!isMap(node)) return
    for (const { key, value } of node.items) {
      const name = String(key)
      const offset = (key as { range?: readonly number[] }).range?.[0] ?? 0
      origins.set([...path, name].join('.'), `${file}:${lines.linePos(offset).line}`)
      note(value, [...path, name])
    }
  }
  note(document.contents, [])
  const values = plain(document, file)
  if (!isRecord(values))
    throw new RlError(`${file} does not hold a map of sections`, {
      code: 'config.yaml',
      hint: 'see config/default.yaml',
    })
  return values
}

/** The values of a document: JSON, so that they can be logged. */
function plain(document: Document, file: string): unknown {
  try {
    const values: unknown = document.toJS()
    JSON.stringify(values)
    return values
  } catch (cause) {
    const [reason] = explain(cause).split('\n')
    throw new RlError(`${file}: ${reason}`, {
      code: 'config.yaml',
      hint: 'an alias (*name) stands for what &name marks before it; put a text that begins with * or & in quotes',
      cause,
    })
  }
}

/** The `RL_<SECTION>_<KEY>` variables; others that begin with RL_ belong to someone else. */
function* variables(
  env: NonNullable<ConfigSources['env']>,
): Generator<readonly [readonly string[], string, string]> {
  const paths = [...configKeys().map(({ path }) => path), ...formerPaths()]
  const known = new Map(paths.map((path) => [variableOf(path), path]))
  const sections = Object.keys(configSchema.shape).map((name) => `${variableOf([name])}_`)
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || !name.startsWith('RL_')) continue
    const path = known.get(name)
    if (path) yield [path, value, `environment variable ${name}`]
    else if (sections.some((prefix) => name.startsWith(prefix)))
      throw new RlError(`environment variable ${name}: unknown key '${name}'`, {
        code: 'config.unknown-key',
        hint: `did you mean '${nearest(name, [...known.keys()]) ?? 'RL_RUN_SEED'}'?`,
      })
  }
}

function assign(
  values: Record<string, unknown>,
  named: readonly string[],
  text: string,
  origin: string,
  origins: Origins,
): void {
  const path = presentPath(named)
  let target = values
  for (const name of path.slice(0, -1)) {
    if (!isRecord(target[name])) target[name] = {}
    target = target[name] as Record<string, unknown>
  }
  const last = path[path.length - 1]
  if (path.some((name) => name === '' || name === '__proto__'))
    throw new RlError(`${origin}: '${path.join('.')}' is not a key`, { code: 'config.usage' })
  try {
    const value: unknown = parse(text)
    JSON.stringify(value) // Nothing that holds itself.
    target[last] = value
  } catch (cause) {
    throw new RlError(`${origin}: '${text}' is not a YAML value`, { code: 'config.yaml', cause })
  }
  origins.set(path.join('.'), origin)
  for (let length = 1; length < path.length; length++) {
    const section = path.slice(0, length).join('.')
    if (!origins.has(section)) origins.set(section, origin)
  }
}

function originOf(path: readonly PropertyKey[], origins: Origins): string | undefined {
  for (let length = path.length; length > 0; length--) {
    const origin = origins.get(path.slice(0, length).join('.'))
    if (origin !== undefined) return origin
  }
  return undefined
}

function issueError(
  issue: z.core.$ZodIssue,
  origin: (path: readonly PropertyKey[]) => string,
  setting: Setting | undefined,
): RlError {
  if (issue.code === 'unrecognized_keys') {
    const path = [...issue.path, issue.keys[0]]
    return unknownKey(origin(path), path.join('.'), configKeys(setting))
  }
  return new RlError(`${origin(issue.path)}: ${issue.path.join('.') || 'the whole'}: ${issue.message}`, {
    code: 'config.invalid',
    hint: hintFor(issue.path, configKeys(setting)),
  })
}

/** An unknown key: the nearest among its siblings, else the same last name anywhere. */
function unknownKey(origin: string, name: string, keys: readonly ConfigKey[]): RlError {
  const parent = name.slice(0, name.lastIndexOf('.') + 1)
  const last = name.slice(parent.length)
  const names = keys.map(({ path }) => path.join('.'))
  const siblings = names.filter((one) => one.slice(0, one.lastIndexOf('.') + 1) === parent)
  const elsewhere = [...keys, ...configKeys()].find(({ path }) => path.at(-1) === last)
  const likely = nearest(name, siblings) ?? elsewhere?.path.join('.') ?? null
  const of = elsewhere?.setting ?? null
  return new RlError(`${origin}: unknown key '${name}'`, {
    code: 'config.unknown-key',
    hint:
      likely === name && of !== null
        ? `it is a key of the setting '${of}'`
        : likely
          ? `did you mean '${likely}'?`
          : `here may stand ${siblings.join(', ')}`,
  })
}

function hintFor(path: readonly PropertyKey[], keys: readonly ConfigKey[]): string | undefined {
  const key = keys.find((known) => known.path.join('.') === path.join('.'))
  return key ? `${key.description}${key.values ? ` Expected: ${key.values}.` : ''}` : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze)
    Object.freeze(value)
  }
  return value
}
