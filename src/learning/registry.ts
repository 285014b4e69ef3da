/** Ours and a user's rules by kind and name. A user's come from the module that `learning.module` names. */
import { z } from 'zod'
import { RlError } from '../errors.ts'
import { openRegistry, type Registry, type UserPart } from '../registry.ts'
import { flattened } from '../user-module.ts'
import { ACCEPTANCE_RULES } from './acceptance.ts'
import { ADVANTAGES } from './advantage.ts'
import { GROUP_FILTERS } from './filters.ts'
import { STEP_REWARDS } from './reward.ts'
import type { RuleKind, RuleKinds } from './rules.ts'
import { TASK_SAMPLERS } from './selection.ts'

/** One rule of each kind, as a config names them. */
export type Rules = { readonly [K in RuleKind]: RuleKinds[K] }

/** Keys of a config that name rules. */
export type RuleNames = {
  readonly learning: {
    readonly module: string | null
    readonly reward: string
    readonly advantage: string
    readonly filter: string
  }
  readonly environment: { readonly sampler: string }
  readonly adaptation: { readonly rule: string }
}

/** The key of a config that names a rule of a kind, and its registry. */
type Shelf<K extends RuleKind> = {
  readonly list: string
  readonly key: string
  readonly registry: Registry<RuleKinds[K]>
}

const values = z.custom((value) => Array.isArray(value) || ArrayBuffer.isView(value), 'expected a list')

/** What a user's rule must give, by the function that gives it. The loop compares it with what was asked. */
const RESULTS: Readonly<Record<string, z.ZodType>> = {
  parts: z.looseObject({ outcome: z.number(), steps: values }),
  advantages: values,
  leavesOut: z.string().min(1).nullable(),
  choose: z.array(z.string()),
  decide: z.looseObject({ accepted: z.boolean(), reason: z.string() }),
}

const SHELVES: { readonly [K in RuleKind]: Shelf<K> } = {
  stepReward: shelf('stepReward', 'stepRewards', 'parts', 'learning.reward', STEP_REWARDS),
  advantage: shelf('advantage', 'advantages', 'advantages', 'learning.advantage', ADVANTAGES),
  groupFilter: shelf('groupFilter', 'groupFilters', 'leavesOut', 'learning.filter', GROUP_FILTERS),
  taskSampler: shelf('taskSampler', 'taskSamplers', 'choose', 'environment.sampler', TASK_SAMPLERS),
  acceptance: shelf('acceptance', 'acceptanceRules', 'decide', 'adaptation.rule', ACCEPTANCE_RULES),
}
const RULE_KINDS = Object.keys(SHELVES) as RuleKind[]

function shelf<K extends RuleKind>(
  kind: K,
  list: string,
  does: keyof RuleKinds[K] & string,
  key: string,
  ours: readonly RuleKinds[K][],
): Shelf<K> {
  const registry = openRegistry<RuleKinds[K]>({
    ...{ kind, list, does, ours, noun: 'rule' },
    key: 'learning.module',
    types: 'rlanything/learning',
    guard: (rule, file) => checkedRule(rule, does, `${file}: ${list}: '${rule.name}'`),
  })
  return { list, key, registry }
}

/** A user's rule, whose results are checked. Error: `rule.result`, with file and field. */
function checkedRule<T extends object>(rule: T, does: keyof T & string, where: string): T {
  const { [does]: asked, ...others } = flattened(rule) as Record<string, unknown>
  const ask = asked as (...given: unknown[]) => unknown
  const checked = (...given: unknown[]) => {
    const result = ask(...given)
    const { success, error } = RESULTS[does].safeParse(result)
    if (success) return result
    const [{ path, message }] = error.issues
    throw new RlError(`${where}: ${[`${does}()`, ...path].join('.')}: ${message}`, {
      code: 'rule.result',
      hint: 'a rule gives its result at once, and no promise; the types are in rlanything/learning',
    })
  }
  return { ...others, [does]: checked } as T
}

/**
 * Loads the rules of the module that a config names and checks that all rules which it names exist.
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

/** What is wrong with the rules that a config names, for the person who wrote it; null where nothing is. */
export function wrongRule(
  config: RuleNames & { readonly rewardModel: { readonly mode: string } },
): { readonly key: string; readonly message: string; readonly hint: string } | null {
  const { module } = config.learning
  for (const kind of RULE_KINDS) {
    const { key, list, registry } = SHELVES[kind]
    const name = nameOf(config, kind)
    if (registry.find(name, module)) continue
    const yours =
      module === null ? `; learning.module can name a module with your own, exported as \`${list}\`` : ''
    return {
      key,
      message: `there is no rule '${name}'`,
      hint: `there are ${registry
        .all(module)
        .map((rule) => rule.name)
        .join(', ')}${yours}`,
    }
  }
  const { name, needs } = rulesOf(config).stepReward
  // Progress without a judge is refused to new runs alone (config.ts): logs of older ones say it, and are read.
  if (needs === 'verdicts' && config.rewardModel.mode === 'off')
    return {
      key: SHELVES.stepReward.key,
      message: `'${name}' needs ${needs}, and rewardModel.mode is off`,
      hint: 'use reward outcome, or mode fixed or co-trained',
    }
  return null
}

/** The rules that a config names. Those of a user's module must have been loaded. @throws RlError `rule.unknown` */
export function rulesOf(config: RuleNames): Rules {
  const rule = <K extends RuleKind>(kind: K): RuleKinds[K] => {
    const name = nameOf(config, kind)
    const { registry, key }: Shelf<K> = SHELVES[kind]
    const found = registry.find(name, config.learning.module)
    if (found) return found
    throw new RlError(`${key}: there is no rule '${name}'`, { code: 'rule.unknown' })
  }
  return {
    stepReward: rule('stepReward'),
    advantage: rule('advantage'),
    groupFilter: rule('groupFilter'),
    taskSampler: rule('taskSampler'),
    acceptance: rule('acceptance'),
  }
}

/** The user's rules among those that a config names. */
export function userRulesOf(config: RuleNames): UserPart[] {
  const { module } = config.learning
  return RULE_KINDS.flatMap((kind) => SHELVES[kind].registry.userPart(nameOf(config, kind), module) ?? [])
}

function nameOf({ learning, environment, adaptation }: RuleNames, kind: RuleKind): string {
  return {
    stepReward: learning.reward,
    advantage: learning.advantage,
    groupFilter: learning.filter,
    taskSampler: environment.sampler,
    acceptance: adaptation.rule,
  }[kind]
}
