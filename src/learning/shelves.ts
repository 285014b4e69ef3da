/** The registries of rules, one a kind, with the key of the config that names its rules. */
import { openRegistry, type Registry } from '../registry.ts'
import { brief, callNow, shape, type UserCall } from '../user-code.ts'
import { flattened } from '../user-module.ts'
import { ACCEPTANCE_RULES } from './acceptance.ts'
import { ADVANTAGES } from './advantage-rules.ts'
import { ALARMS } from './alarms.ts'
import { GROUP_FILTERS } from './filters.ts'
import { GROUP_SIZES, HORIZONS, TASK_SAMPLERS } from './playing-rules.ts'
import { ROLLOUT_FILTERS } from './rollout-filters.ts'
import { RESULTS, type RulePart } from './rule-results.ts'
import type { RuleKind, RuleKinds } from './rules.ts'
import { STEP_REWARDS } from './step-rewards.ts'
import { STEP_WEIGHTS } from './step-weights.ts'

/** The config key that names the rules of a kind, and the registry of that kind. */
export type Shelf<K extends RuleKind> = {
  readonly list: string
  readonly key: string
  readonly registry: Registry<RuleKinds[K]>
}

/** Kinds of which a config names exactly one rule. Of the others it names a list. */
export const SHELVES: { readonly [K in RuleKind]: Shelf<K> } = {
  stepReward: shelf('stepReward', 'stepRewards', 'learning.reward', STEP_REWARDS, {
    does: 'parts',
    also: ['weights'],
  }),
  advantage: shelf('advantage', 'advantages', 'learning.advantage', ADVANTAGES, { does: 'advantages' }),
  groupFilter: shelf('groupFilter', 'groupFilters', 'learning.filter', GROUP_FILTERS, {
    does: 'leavesOut',
    or: 'weigh',
  }),
  rolloutFilter: shelf('rolloutFilter', 'rolloutFilters', 'learning.rollouts', ROLLOUT_FILTERS, {
    does: 'keep',
  }),
  stepWeight: shelf('stepWeight', 'stepWeights', 'learning.weights', STEP_WEIGHTS, { does: 'factors' }),
  taskSampler: shelf('taskSampler', 'taskSamplers', 'environment.sampler', TASK_SAMPLERS, { does: 'choose' }),
  groupSize: shelf('groupSize', 'groupSizes', 'environment.groupSize', GROUP_SIZES, { does: 'size' }),
  horizon: shelf('horizon', 'horizons', 'environment.horizon', HORIZONS, { does: 'maxSteps' }),
  acceptance: shelf('acceptance', 'acceptanceRules', 'adaptation.rule', ACCEPTANCE_RULES, { does: 'decide' }),
  alarm: shelf('alarm', 'alarms', 'learning.alarms', ALARMS, { does: 'look' }),
}

export const RULE_KINDS = Object.keys(SHELVES) as RuleKind[]

/** Functions of the rules of a kind: the main one, another that may stand in its place, and those that each rule has besides. */
type Functions<K extends RuleKind> = {
  readonly does: FunctionOf<K>
  readonly or?: FunctionOf<K>
  readonly also?: readonly FunctionOf<K>[]
}
type FunctionOf<K extends RuleKind> = keyof RuleKinds[K] & RulePart

function shelf<K extends RuleKind>(
  kind: K,
  list: string,
  key: string,
  ours: readonly RuleKinds[K][],
  { does, or, also = [] }: Functions<K>,
): Shelf<K> {
  const parts = [does, ...(or ? [or] : []), ...also]
  const registry = openRegistry<RuleKinds[K]>({
    kind,
    list,
    does,
    ...(or ? { or } : {}),
    also,
    ours,
    noun: 'rule',
    key: 'learning.module',
    types: 'rlanything/learning',
    guard: (rule, file) => checkedRule(rule, parts, file, `${list}: '${rule.name}'`),
  })
  return { list, key, registry }
}

/** Wraps a user's rule: a failing function is named, and results are checked. Error: `rule.result`, with file and field. */
function checkedRule<T extends object>(rule: T, parts: readonly RulePart[], file: string, where: string): T {
  const own = flattened(rule) as Record<string, unknown>
  const call = (part: string, given: readonly unknown[]): UserCall => ({
    file,
    part: `${where}: ${part}()`,
    about: about(given),
    code: 'rule.result',
    hint: 'a rule gives its result at once, and no promise; the types are in rlanything/learning',
  })
  const checked = parts.flatMap((part) => {
    const ask = own[part]
    if (typeof ask !== 'function') return []
    const check = shape(RESULTS[part])
    return [[part, (...given: unknown[]) => callNow(call(part, given), () => ask(...given), check)] as const]
  })
  const { tuned } = own
  const retuned =
    typeof tuned === 'function'
      ? {
          tuned: (given: unknown) =>
            checkedRule(
              callNow(call('tuned', []), () => tuned(given)),
              parts,
              file,
              where,
            ),
        }
      : {}
  return { ...own, ...Object.fromEntries(checked), ...retuned } as T
}

/** Names the subject of a call: a rollout, or the task of a group. */
function about([first]: readonly unknown[]): string[] {
  const one = (Array.isArray(first) ? first[0] : first) as { readonly id?: unknown; readonly task?: unknown }
  const { id, task } = one ?? {}
  if (typeof id === 'string' && !Array.isArray(first)) return [`rollout ${brief(id, 100)}`]
  return typeof task === 'string' ? [`task '${brief(task, 100)}'`] : []
}
