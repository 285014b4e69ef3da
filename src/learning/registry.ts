/** Our rules and a user's, by kind and name. A user's rules come from the module that `learning.module` names. */
import { RlError } from '../errors.ts'
import { nearest } from '../nearest.ts'
import type { UserPart } from '../registry.ts'
import { type Need, needsOf, type RuleKind, type RuleKinds } from './rules.ts'
import { RULE_KINDS, SHELVES, type Shelf } from './shelves.ts'
import { optionsOf, tune, wrongOption } from './tunable.ts'

/** The rules that a config names, with their options. */
export type Rules = {
  readonly [K in Exclude<
    RuleKind,
    'rolloutFilter' | 'stepWeight' | 'groupSize' | 'horizon' | 'alarm'
  >]: RuleKinds[K]
} & {
  readonly groupSize: RuleKinds['groupSize'] | null
  readonly horizon: RuleKinds['horizon'] | null
  readonly rolloutFilters: readonly RuleKinds['rolloutFilter'][]
  readonly stepWeights: readonly RuleKinds['stepWeight'][]
  readonly alarms: readonly RuleKinds['alarm'][]
}

type OptionsByRule = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Keys of a config that name rules. */
export type RuleNames = {
  readonly learning: {
    readonly module: string | null
    readonly reward: string
    readonly advantage: string
    readonly filter: string
    readonly rollouts?: readonly string[]
    readonly weights?: readonly string[]
    readonly alarms?: readonly string[]
    readonly options?: OptionsByRule
  }
  readonly environment: { readonly sampler: string; readonly groupSize?: string; readonly horizon?: string }
  readonly adaptation: { readonly rule: string }
}

type Wrong = { readonly key: string; readonly message: string; readonly hint: string }

/**
 * Loads the rules of the module that a config names. Checks that all rules of the config exist, and their options.
 * @throws RlError `rule.unknown`, or as the `load` of a registry
 */
export async function loadRules(
  config: RuleNames & { readonly rewardModel: { readonly mode: string } },
): Promise<void> {
  const { module } = config.learning
  let count = 0
  for (const kind of RULE_KINDS) count += await SHELVES[kind].registry.load(module)
  if (module !== null && count === 0)
    throw new RlError(`learning.module: ${module} exports no rules`, {
      code: 'module.invalid',
      hint: `export a list: ${RULE_KINDS.map((kind) => SHELVES[kind].list).join(', ')}`,
    })
  const { key, message, hint } = wrongRule(config) ?? {}
  if (message !== undefined) throw new RlError(`${key}: ${message}`, { code: 'rule.unknown', hint })
}

/** Returns what is wrong with the rules that a config names, as a text for its author. Returns null if nothing is wrong. */
export function wrongRule(
  config: RuleNames & { readonly rewardModel: { readonly mode: string } },
): Wrong | null {
  for (const kind of RULE_KINDS) {
    const wrong = wrongName(config, kind)
    if (wrong) return wrong
  }
  const options = wrongOptions(config)
  if (options) return options
  const { stepReward } = rulesOf(config)
  // Progress without a judge is refused in new runs only (config.ts). Logs of older runs have it, and they are read.
  if (needsOf(stepReward).includes('verdicts') && config.rewardModel.mode === 'off')
    return {
      key: SHELVES.stepReward.key,
      message: `'${stepReward.name}' needs verdicts, and rewardModel.mode is off`,
      hint: 'use reward outcome, or mode fixed or co-trained',
    }
  return null
}

function wrongName(config: RuleNames, kind: RuleKind): Wrong | null {
  const { module } = config.learning
  const { key, list, registry } = SHELVES[kind]
  const names = ruleNames(config, kind)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined)
    return { key, message: `'${twice}' stands there twice`, hint: 'a rule acts once: name it once' }
  const unknown = names.find((name) => !registry.find(name, module))
  if (unknown === undefined) return null
  const yours =
    module === null ? `; learning.module can name a module with your own, exported as \`${list}\`` : ''
  const there = registry.all(module).map((rule) => rule.name)
  return {
    key,
    message: `there is no rule '${unknown}'`,
    hint: `there are ${there.join(', ')}${yours}`,
  }
}

/** Refuses options that no named rule reads, and values that its rule cannot take. */
function wrongOptions(config: RuleNames): Wrong | null {
  const named = RULE_KINDS.flatMap((kind) => foundRules(config, kind))
  const tunables = named.flatMap((rule) => {
    const schema = optionsOf(rule)
    return schema ? [{ name: rule.name, schema }] : []
  })
  for (const [name, given] of Object.entries(config.learning.options ?? {})) {
    const key = `learning.options.${name}`
    const schemas = tunables.filter((rule) => rule.name === name).map(({ schema }) => schema)
    if (schemas.length === 0) return { key, ...unreadOption(name, named, tunables) }
    for (const schema of schemas) {
      const { path, message } = wrongOption(schema, given) ?? {}
      if (path && message !== undefined)
        return {
          key: [key, ...path.map(String)].join('.'),
          message,
          hint: `'${name}' has the options ${Object.keys(schema.shape).join(', ')}: see docs/rules.md`,
        }
    }
  }
  return null
}

function unreadOption(
  name: string,
  named: readonly { readonly name: string }[],
  tunables: readonly { readonly name: string }[],
): Pick<Wrong, 'message' | 'hint'> {
  if (named.some((rule) => rule.name === name))
    return { message: `the rule '${name}' has no options`, hint: 'leave them out' }
  const near = nearest(
    name,
    tunables.map((rule) => rule.name),
  )
  const there = tunables.length > 0 ? tunables.map((rule) => rule.name).join(', ') : 'none'
  return {
    message: `the config names no rule '${name}', so nothing reads these options`,
    hint: near ? `did you mean '${near}'?` : `of the rules that it names, these have options: ${there}`,
  }
}

/** Returns the rules that a config names. A user's module must have been loaded. @throws RlError `rule.unknown` */
export function rulesOf(config: RuleNames): Rules {
  const one = <K extends RuleKind>(kind: K): RuleKinds[K] => {
    const [found] = all(kind)
    if (found) return found
    throw new RlError(`${SHELVES[kind].key}: it names no rule`, { code: 'rule.unknown' })
  }
  const all = <K extends RuleKind>(kind: K): readonly RuleKinds[K][] => {
    const found = foundRules(config, kind)
    const names = ruleNames(config, kind)
    const missing = names.find((name) => !found.some((rule) => rule.name === name))
    if (missing === undefined)
      return found.map((rule) => tune(rule, config.learning.options?.[rule.name] ?? {}))
    throw new RlError(`${SHELVES[kind].key}: there is no rule '${missing}'`, { code: 'rule.unknown' })
  }
  return {
    stepReward: one('stepReward'),
    advantage: one('advantage'),
    groupFilter: one('groupFilter'),
    rolloutFilters: all('rolloutFilter'),
    stepWeights: all('stepWeight'),
    alarms: all('alarm'),
    taskSampler: one('taskSampler'),
    groupSize: all('groupSize')[0] ?? null,
    horizon: all('horizon')[0] ?? null,
    acceptance: one('acceptance'),
  }
}

/** Returns the input that the rules of a batch name. */
export function needsOfBatch({
  stepReward,
  advantage,
  groupFilter,
  rolloutFilters,
  stepWeights,
}: Rules): ReadonlySet<Need> {
  return new Set([stepReward, advantage, groupFilter, ...rolloutFilters, ...stepWeights].flatMap(needsOf))
}

/** Returns the rule of a batch that names an input, with the key that names the rule, or null. */
export function ruleNeeding(
  config: RuleNames,
  need: Need,
): { readonly key: string; readonly name: string } | null {
  for (const kind of ['stepReward', 'advantage', 'groupFilter', 'rolloutFilter', 'stepWeight'] as const) {
    const found = foundRules(config, kind).find((rule) => needsOf(rule).includes(need))
    if (found) return { key: SHELVES[kind].key, name: found.name }
  }
  return null
}

/** Returns the user's rules among the rules that a config names. */
export function userRulesOf(config: RuleNames): UserPart[] {
  const { module } = config.learning
  return RULE_KINDS.flatMap((kind) =>
    ruleNames(config, kind).flatMap((name) => SHELVES[kind].registry.userPart(name, module) ?? []),
  )
}

function foundRules<K extends RuleKind>(config: RuleNames, kind: K): readonly RuleKinds[K][] {
  const { registry }: Shelf<K> = SHELVES[kind]
  return ruleNames(config, kind).flatMap((name) => registry.find(name, config.learning.module) ?? [])
}

/** Returns the names of the rules of a kind that a config names. */
export function ruleNames(
  { learning, environment, adaptation }: RuleNames,
  kind: RuleKind,
): readonly string[] {
  return {
    stepReward: [learning.reward],
    advantage: [learning.advantage],
    groupFilter: [learning.filter],
    rolloutFilter: learning.rollouts ?? [],
    stepWeight: learning.weights ?? [],
    taskSampler: [environment.sampler],
    groupSize: environment.groupSize === undefined ? [] : [environment.groupSize],
    horizon: environment.horizon === undefined ? [] : [environment.horizon],
    acceptance: [adaptation.rule],
    alarm: learning.alarms ?? [],
  }[kind]
}

/** Kinds of which a config names a list of rules. Of the others it names one. */
const LISTED: ReadonlySet<RuleKind> = new Set(['rolloutFilter', 'stepWeight', 'alarm'])

/** Returns the values of a config with one rule in the place of those of its kind. Options that nothing reads then are dropped. */
export function configNaming<Config extends RuleNames>(
  config: Config,
  kind: RuleKind,
  rule: string,
): Record<string, unknown> {
  const values: Record<string, unknown> = structuredClone(config)
  const [section = '', key = ''] = SHELVES[kind].key.split('.')
  values[section] = { ...(values[section] as object), [key]: LISTED.has(kind) ? [rule] : rule }
  const named = new Set(RULE_KINDS.flatMap((other) => (other === kind ? rule : ruleNames(config, other))))
  const { options } = config.learning
  if (options === undefined) return values
  const read = Object.entries(options).filter(([name]) => named.has(name))
  values.learning = { ...(values.learning as object), options: Object.fromEntries(read) }
  return values
}
