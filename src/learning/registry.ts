/** Ours and a user's rules by kind and name. A user's come from the module that `learning.module` names. */
import { RlError } from '../errors.ts'
import { loadUserModule } from '../user-module.ts'
import { ACCEPTANCE_RULES } from './acceptance.ts'
import { ADVANTAGES } from './advantage.ts'
import { GROUP_FILTERS } from './filters.ts'
import { STEP_REWARDS } from './reward.ts'
import type { RuleKind, RuleKinds } from './rules.ts'
import { TASK_SAMPLERS } from './selection.ts'

/** One rule of each kind, as a config names them. */
export type Rules = { readonly [K in RuleKind]: RuleKinds[K] }

/** What a run's log says of a user's rule that decides in it. */
export type UserRule = {
  readonly kind: RuleKind
  readonly name: string
  readonly version: number
  /** SHA-256 of the file that it stands in, hex. */
  readonly digest: string
}

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

type Shelf = { readonly [K in RuleKind]: readonly RuleKinds[K][] }

/** For each kind: the export of a user's module that holds a list of them, the function that makes one, the key that names one. */
const KINDS = {
  stepReward: { list: 'stepRewards', does: 'parts', key: 'learning.reward' },
  advantage: { list: 'advantages', does: 'advantages', key: 'learning.advantage' },
  groupFilter: { list: 'groupFilters', does: 'leavesOut', key: 'learning.filter' },
  taskSampler: { list: 'taskSamplers', does: 'choose', key: 'environment.sampler' },
  acceptance: { list: 'acceptanceRules', does: 'decide', key: 'adaptation.rule' },
} as const satisfies Record<RuleKind, { list: string; does: string; key: string }>

const RULE_KINDS = Object.keys(KINDS) as RuleKind[]

const OURS: Shelf = {
  stepReward: STEP_REWARDS,
  advantage: ADVANTAGES,
  groupFilter: GROUP_FILTERS,
  taskSampler: TASK_SAMPLERS,
  acceptance: ACCEPTANCE_RULES,
}

type Loaded = { readonly shelf: Shelf; readonly digest: string }

/** By the module's name in a config; loaded once a process, before anything decides. */
const loaded = new Map<string, Loaded>()

/**
 * Loads the rules of the module that a config names and checks that all rules which it names exist.
 * @throws RlError `rule.unknown`, `rule.invalid`, or as `loadUserModule`
 */
export async function loadRules(
  config: RuleNames & { readonly rewardModel: { readonly mode: string } },
): Promise<void> {
  const { module } = config.learning
  if (module !== null && !loaded.has(module)) {
    const { file, digest, exports } = await loadUserModule(module, 'learning.module')
    loaded.set(module, { shelf: shelfOf(file, exports), digest })
  }
  const { key, message, hint } = wrongRule(config) ?? {}
  if (message !== undefined) throw new RlError(`${key}: ${message}`, { code: 'rule.unknown', hint })
}

/** What is wrong with the rules that a config names, for the person who wrote it; null where nothing is. */
export function wrongRule(
  config: RuleNames & { readonly rewardModel: { readonly mode: string } },
): { readonly key: string; readonly message: string; readonly hint: string } | null {
  const { module } = config.learning
  for (const kind of RULE_KINDS) {
    const { key, list } = KINDS[kind]
    const name = nameOf(config, kind)
    const all = known(kind, module)
    if (all.some((rule) => rule.name === name)) continue
    const yours =
      module === null ? `; learning.module can name a module with your own, exported as \`${list}\`` : ''
    return {
      key,
      message: `there is no rule '${name}'`,
      hint: `there are ${all.map((rule) => rule.name).join(', ')}${yours}`,
    }
  }
  const { name, needs } = rulesOf(config).stepReward
  if (needs === 'verdicts' && config.rewardModel.mode === 'off')
    return {
      key: KINDS.stepReward.key,
      message: `'${name}' needs verdicts, and rewardModel.mode is off`,
      hint: 'use reward outcome or progress, or mode fixed or co-trained',
    }
  return null
}

/** The rules that a config names. Those of a user's module must have been loaded. @throws RlError `rule.unknown` */
export function rulesOf(config: RuleNames): Rules {
  const rule = <K extends RuleKind>(kind: K): RuleKinds[K] => {
    const name = nameOf(config, kind)
    const found = known(kind, config.learning.module).find((rule) => rule.name === name)
    if (found) return found
    throw new RlError(`${KINDS[kind].key}: there is no rule '${name}'`, { code: 'rule.unknown' })
  }
  return {
    stepReward: rule('stepReward'),
    advantage: rule('advantage'),
    groupFilter: rule('groupFilter'),
    taskSampler: rule('taskSampler'),
    acceptance: rule('acceptance'),
  }
}

/** The user's rules among those that a config names; ours are known by the version of the code. */
export function userRulesOf(config: RuleNames): UserRule[] {
  const { digest } = loaded.get(config.learning.module ?? '') ?? {}
  if (digest === undefined) return []
  const rules = rulesOf(config)
  return RULE_KINDS.flatMap((kind) => {
    const { name, version } = rules[kind]
    return OURS[kind].some((rule) => rule === rules[kind]) ? [] : [{ kind, name, version, digest }]
  })
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

function known<K extends RuleKind>(kind: K, module: string | null): readonly RuleKinds[K][] {
  const ours = OURS[kind] as readonly RuleKinds[K][]
  const users = (module === null ? [] : loaded.get(module)?.shelf[kind]) as
    | readonly RuleKinds[K][]
    | undefined
  return [...ours, ...(users ?? [])]
}

function shelfOf(file: string, exports: Readonly<Record<string, unknown>>): Shelf {
  const shelf = Object.fromEntries(
    RULE_KINDS.map((kind) => [kind, checkedList(file, kind, exports[KINDS[kind].list])]),
  )
  if (RULE_KINDS.every((kind) => exports[KINDS[kind].list] === undefined))
    throw new RlError(`${file} exports no rules`, {
      code: 'rule.invalid',
      hint: `export a list: ${RULE_KINDS.map((kind) => KINDS[kind].list).join(', ')}`,
    })
  return shelf as unknown as Shelf
}

function checkedList(file: string, kind: RuleKind, list: unknown): readonly unknown[] {
  const { list: name, does } = KINDS[kind]
  const refuse = (message: string): never => {
    throw new RlError(`${file}: ${name}: ${message}`, {
      code: 'rule.invalid',
      hint: `a list of { name, version, ${does} }; the types are in rlanything/learning`,
    })
  }
  if (list === undefined) return []
  if (!Array.isArray(list)) return refuse('is no list')
  for (const [i, rule] of list.entries()) {
    const fields = (rule ?? {}) as Record<string, unknown>
    if (typeof fields.name !== 'string' || fields.name === '') refuse(`rule ${i} has no name`)
    if (!Number.isInteger(fields.version)) refuse(`'${fields.name}' has no version, a whole number`)
    if (typeof fields[does] !== 'function') refuse(`'${fields.name}' has no function \`${does}\``)
    if (OURS[kind].some((ours) => ours.name === fields.name)) refuse(`'${fields.name}' is a rule of ours`)
    if (list.findIndex((other) => other?.name === fields.name) !== i)
      refuse(`'${fields.name}' stands there twice`)
  }
  return list
}
