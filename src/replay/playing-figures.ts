/** Rules of what is played, asked over a finished run. Rollouts that nobody played cannot be known. */

import { type Output, startDecider } from '../actors/decider/decider.ts'
import type { EnvironmentContext } from '../actors/environment/context.ts'
import { environmentDecider } from '../actors/environment/machine.ts'
import { playIteration } from '../actors/environment/playing.ts'
import { loggedConfig } from '../config.ts'
import type { Config } from '../config-schema/schema.ts'
import type { EventData, EventType } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { stableMean } from '../learning/moments.ts'
import type { RuleKind } from '../learning/rules.ts'

/** Kinds that decide what is played. */
export type PlayingKind = 'taskSampler' | 'groupSize' | 'horizon'

const UNITS: { readonly [K in PlayingKind]: PlayingFigures['unit'] } = {
  taskSampler: 'success',
  groupSize: 'rollouts',
  horizon: 'steps',
}

export const isPlayingKind = (kind: RuleKind): kind is PlayingKind => Object.hasOwn(UNITS, kind)

export type PlayingFigures = {
  /** Groups that the rule asks for. */
  readonly groups: number
  /** Groups that the run did not ask for in this way: another task, another size, or another limit of steps. */
  readonly otherwise: number
  /** `success` is the mean success of the tasks that were chosen, before they were played. */
  readonly unit: 'success' | 'rollouts' | 'steps'
  /** In the run. Null if no task had a group before it was chosen. */
  readonly before: number | null
  /** Under the rule. Of the steps that the run played, those within the rule's limits. */
  readonly after: number | null
}

export type PlayingRule = {
  readonly kind: PlayingKind
  /** Returns the config of the run with the rule in the place of its own. */
  readonly under: (config: Config) => Config
}

type PlannedGroup = {
  readonly task: string
  readonly candidate: boolean
  readonly rollouts: number
  readonly maxSteps: number
  /** Mean success of the task's last groups. Null if it has none. */
  readonly success: number | null
}

/** Groups by slot. */
type Plan = ReadonlyMap<string, PlannedGroup>

type Open = {
  readonly rule: PlayingRule
  readonly counts: { groups: number; otherwise: number; before: number[]; after: number[] }
  /** Limits of steps by slot, by iteration. */
  readonly limits: Map<number, ReadonlyMap<string, number>>
}

/** Asks each rule at the start of each iteration, with the history that the run had then. Returns figures in the order of the rules. */
export function playingFigures(log: LogReader, rules: readonly PlayingRule[]): readonly PlayingFigures[] {
  const opened = rules.map(
    (rule): Open => ({
      rule,
      counts: { groups: 0, otherwise: 0, before: [], after: [] },
      limits: new Map(),
    }),
  )
  let config = loggedConfig(startsOf(log).first.data.config)
  const running = startDecider(environmentDecider(config))
  const types: readonly EventType[] = [...running.decider.interests]
  for (const event of log.events({ types })) {
    if (event.type === 'RunStarted') config = loggedConfig(event.data.config)
    else if (event.type === 'IterationStarted' && event.data.iteration > 0) {
      const context = running.context() as EnvironmentContext
      const was = planUnder(context, event.data, config)
      for (const open of opened)
        enterPlans(open, event.data.iteration, was, planUnder(context, event.data, open.rule.under(config)))
    } else if (event.type === 'TrajectoryCompleted' && event.data.purpose !== 'evaluation')
      for (const open of opened) enterSteps(open, event.data)
    running.handle(event)
  }
  return opened.map(figuresOf)
}

/** Returns the plan that the environment's decider makes under a config. The context stays as it is. */
function planUnder(
  context: EnvironmentContext,
  started: EventData<'IterationStarted'>,
  config: Config,
): Plan {
  const own = { ...context, slots: structuredClone(context.slots), books: new Map() }
  const outputs = playIteration(own, started, config, config.run.seed)
  const limits = new Map<string, number>()
  for (const output of outputs) {
    const requested = eventOf(output, 'RolloutRequested')
    if (requested) limits.set(requested.slot, requested.maxSteps)
  }
  const groups = new Map<string, PlannedGroup>()
  for (const output of outputs) {
    const plan = eventOf(output, 'IterationPlanned')
    for (const { slot, task, purpose, reserve, rollouts = plan?.rolloutsPerTask ?? 0 } of plan?.groups ??
      []) {
      if (reserve) continue
      const candidate = purpose === 'candidate'
      const history = candidate ? [] : (context.slots.get(slot)?.history ?? [])
      const n = history.reduce((sum, tally) => sum + tally.n, 0)
      const successes = history.reduce((sum, tally) => sum + tally.successes, 0)
      groups.set(slot, {
        ...{ task, candidate, rollouts, maxSteps: limits.get(slot) ?? 0 },
        success: n > 0 ? successes / n : null,
      })
    }
  }
  return groups
}

function eventOf<T extends EventType>(output: Output, type: T): EventData<T> | null {
  return output.type === 'event' && output.event.type === type ? (output.event.data as EventData<T>) : null
}

function enterPlans({ rule, counts, limits }: Open, iteration: number, was: Plan, now: Plan): void {
  const { kind } = rule
  for (const [slot, group] of now) {
    // Candidates are played whatever a sampler says.
    if (kind === 'taskSampler' && group.candidate) continue
    counts.groups++
    const before = was.get(slot)
    if (
      before === undefined ||
      before.task !== group.task ||
      (kind === 'groupSize' && before.rollouts !== group.rollouts) ||
      (kind === 'horizon' && before.maxSteps !== group.maxSteps)
    )
      counts.otherwise++
  }
  for (const [list, plan] of [
    [counts.before, was],
    [counts.after, now],
  ] as const)
    for (const { candidate, success, rollouts } of plan.values()) {
      if (kind === 'groupSize') list.push(rollouts)
      else if (kind === 'taskSampler' && !candidate && success !== null) list.push(success)
    }
  if (kind === 'horizon')
    limits.set(iteration, new Map([...now].map(([slot, { maxSteps }]) => [slot, maxSteps])))
}

/** Counts the steps of a rollout that lie within the rule's limit. */
function enterSteps(
  { counts, limits }: Open,
  { iteration, slot, steps }: EventData<'TrajectoryCompleted'>,
): void {
  const limit = limits.get(iteration)?.get(slot)
  if (limit === undefined) return
  counts.before.push(steps)
  counts.after.push(Math.min(steps, limit))
}

function figuresOf({ rule, counts }: Open): PlayingFigures {
  const { groups, otherwise } = counts
  const unit = UNITS[rule.kind]
  const total = (values: readonly number[]) =>
    unit === 'success'
      ? values.length > 0
        ? stableMean(values)
        : null
      : values.reduce((sum, value) => sum + value, 0)
  return { groups, otherwise, unit, before: total(counts.before), after: total(counts.after) }
}
