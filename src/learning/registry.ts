/** Our rules and a user's, by kind and name. A user's rules come from the module that `learning.module` names. */
import { z } from 'zod'
import { RlError } from '../errors.ts'
import { openRegistry, type Registry, type UserPart } from '../registry.ts'
import { safeParse } from '../safe-parse.ts'
import { brief, callNow, shape, type UserCall } from '../user-code.ts'
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

/** The config key that names a rule of a kind, and the registry of that kind. */
type Shelf<K extends RuleKind> = {
  readonly list: string
  readonly key: string
  readonly registry: Registry<RuleKinds[K]>
}

const list = z.custom<ArrayLike<unknown>>(
  (value) => Array.isArray(value) || ArrayBuffer.isView(value),
  'expected a list',
)

/** A list of numbers in a range, so that one step's reward cannot drown all others. */
const numbersIn = (low: number, high: number) =>
  list.superRefine((found, context) => {
    const wrong = Array.from(found).findIndex(
      (one) => !(typeof one === 'number' && one >= low && one <= high),
    )
    if (wrong < 0) return
    const bounds = Number.isFinite(high) ? `a number from ${low} to ${high}` : 'a number'
    const message = `expected ${bounds}, and got ${String(found[wrong])}`
    context.addIssue({ code: 'custom', path: [wrong], message })
  })

const MOST = Number.MAX_VALUE
const weight = z.number()

/** Schema of what each function of a user's rule returns. The loop compares the result with what it asked for. */
const RESULTS = {
  parts: z.looseObject({ outcome: z.number().min(-1).max(1), steps: numbersIn(-1, 1) }),
  weights: z.looseObject({ outcome: weight, step: weight }),
  advantages: list.superRefine((rows, context) => {
    for (const [index, row] of Array.from(rows).entries()) {
      const { error } = safeParse(numbersIn(-MOST, MOST), row)
      for (const { path, message } of error?.issues.slice(0, 1) ?? [])
        context.addIssue({ code: 'custom', path: [index, ...path], message })
    }
  }),
  leavesOut: z.string().min(1).nullable(),
  choose: z.array(z.string()),
  decide: z.looseObject({ accepted: z.boolean(), reason: z.string() }),
} satisfies Readonly<Record<string, z.ZodType>>

/** Name of a function of a rule. */
type RulePart = keyof typeof RESULTS

const SHELVES: { readonly [K in RuleKind]: Shelf<K> } = {
  stepReward: shelf('stepReward', 'stepRewards', 'parts', 'learning.reward', STEP_REWARDS, ['weights']),
  advantage: shelf('advantage', 'advantages', 'advantages', 'learning.advantage', ADVANTAGES),
  groupFilter: shelf('groupFilter', 'groupFilters', 'leavesOut', 'learning.filter', GROUP_FILTERS),
  taskSampler: shelf('taskSampler', 'taskSamplers', 'choose', 'environment.sampler', TASK_SAMPLERS),
  acceptance: shelf('acceptance', 'acceptanceRules', 'decide', 'adaptation.rule', ACCEPTANCE_RULES),
}
const RULE_KINDS = Object.keys(SHELVES) as RuleKind[]

function shelf<K extends RuleKind>(
  kind: K,
  list: string,
  does: keyof RuleKinds[K] & RulePart,
  key: string,
  ours: readonly RuleKinds[K][],
  also: readonly (keyof RuleKinds[K] & RulePart)[] = [],
): Shelf<K> {
  const registry = openRegistry<RuleKinds[K]>({
    kind,
    list,
    does,
    also,
    ours,
    noun: 'rule',
    key: 'learning.module',
    types: 'rlanything/learning',
    guard: (rule, file) => checkedRule(rule, [does, ...also], file, `${list}: '${rule.name}'`),
  })
  return { list, key, registry }
}

/** Wraps a user's rule: a failing function is named, and results are checked. Error: `rule.result`, with file and field. */
function checkedRule<T extends object>(rule: T, parts: readonly RulePart[], file: string, where: string): T {
  const own = flattened(rule) as Record<string, unknown>
  const checked = parts.map((part) => {
    const ask = own[part] as (...given: unknown[]) => unknown
    const check = shape(RESULTS[part])
    const call = (given: readonly unknown[]): UserCall => ({
      file,
      part: `${where}: ${part}()`,
      about: about(given),
      code: 'rule.result',
      hint: 'a rule gives its result at once, and no promise; the types are in rlanything/learning',
    })
    return [part, (...given: unknown[]) => callNow(call(given), () => ask(...given), check)]
  })
  return { ...own, ...Object.fromEntries(checked) } as T
}

/** Names the subject of a call: a rollout, or the task of a group. */
function about([first]: readonly unknown[]): string[] {
  const one = (Array.isArray(first) ? first[0] : first) as { readonly id?: unknown; readonly task?: unknown }
  if (typeof one?.task === 'string') return [`task '${brief(one.task, 100)}'`]
  return typeof one?.id === 'string' ? [`rollout ${brief(one.id, 100)}`] : []
}

/**
 * Loads the rules of the module that a config names. Checks that all rules of the config exist.
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
  // Progress without a judge is refused in new runs only (config.ts). Logs of older runs have it, and they are read.
  if (needs === 'verdicts' && config.rewardModel.mode === 'off')
    return {
      key: SHELVES.stepReward.key,
      message: `'${name}' needs ${needs}, and rewardModel.mode is off`,
      hint: 'use reward outcome, or mode fixed or co-trained',
    }
  return null
}

/** Returns the rules that a config names. A user's module must have been loaded. @throws RlError `rule.unknown` */
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

/** Returns the user's rules among the rules that a config names. */
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
