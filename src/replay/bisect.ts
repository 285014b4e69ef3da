/**
 * Which change of a run caused a fall: the iterations between a good and a bad one are gone through again on the simulated
 * learner, with the first k of the changes applied and the later ones undone; of two halves the one with the greater fall is
 * halved again. The learner is run on the expected share of successes: nothing is drawn, and two runs differ by what was
 * changed alone.
 */
import type { LearnableGroup } from '../actors/decider/jobs.ts'
import { simulatedSuccess, simulatedUpdate } from '../actors/simulated/learner.ts'
import type { Config } from '../config.ts'
import type { Task } from '../environments/port.ts'
import { settingOf } from '../environments/settings.ts'
import { RlError } from '../errors.ts'
import type { LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { accuracyOf } from '../learning/filters.ts'
import { stableMean } from '../learning/moments.ts'
import { type Change, changesBetween, withLeaf } from './changes.ts'
import { configAt } from './config-at.ts'
import { ofType } from './why.ts'

export type BisectOptions = {
  /** `accuracy` of the training groups, `skill`, `judge`, or the name of an evaluation split. */
  readonly metric: string
  /** Iterations. */
  readonly good: number
  readonly bad: number
}

export type Bisect = BisectOptions & {
  readonly simulated: true
  /** What the log holds of the metric at both iterations. */
  readonly recorded: { readonly good: number; readonly bad: number }
  /** The metric at the bad iteration on the learner: without any change, and with all of them. */
  readonly reference: number
  readonly reproduced: number
  readonly changes: number
  readonly runs: readonly { readonly applied: number; readonly value: number }[]
  readonly cause: Pick<Change, 'kind' | 'position' | 'what'>
}

/** Beside the reference at most log2(changes) + 1 runs, rounded up. Errors: `bisect.not-simulated`, `bisect.no-fall`, `bisect.no-change`, `bisect.unknown`. */
export function bisect(log: LogReader, options: BisectOptions): Bisect {
  const { metric, good, bad } = options
  const from = positionOf(log, `IterationCompleted/${good}`)
  const until = positionOf(log, `IterationCompleted/${bad}`)
  const config = configAt(log, from)
  if (!settingOf(config.environment)?.simulated)
    throw new RlError('only a simulated run can be gone through again without models', {
      code: 'bisect.not-simulated',
      hint: 'fork the run and change one thing: rl fork, then rl diff',
    })
  const recorded = { good: recordedAt(log, metric, good), bad: recordedAt(log, metric, bad) }
  if (!(recorded.bad < recorded.good))
    throw new RlError(`${metric} did not fall: ${recorded.good} at ${good}, ${recorded.bad} at ${bad}`, {
      code: 'bisect.no-fall',
      hint: 'give the iteration with the higher value as --good',
    })
  const changes = changesBetween(log, from, until)
  if (changes.length === 0)
    throw new RlError(`nothing changed between the iterations ${good} and ${bad}`, {
      code: 'bisect.no-change',
    })
  const stretch = stretchOf(log, options, config, changes)
  const runs: { applied: number; value: number }[] = []
  const run = (applied: number): number => {
    const value = simulate(stretch, applied)
    runs.push({ applied, value })
    return value
  }
  const reference = simulate(stretch, 0)
  const reproduced = run(changes.length)
  if (!(reproduced < reference))
    throw new RlError(
      `the fall of ${metric} does not come again on the learner: ${reproduced} with all changes, ${reference} without`,
      {
        code: 'bisect.no-fall',
        hint: 'it was chance, or has a cause that the simulated learner does not know',
      },
    )
  let [before, after] = [
    { applied: 0, value: reference },
    { applied: changes.length, value: reproduced },
  ]
  while (after.applied - before.applied > 1) {
    const applied = (before.applied + after.applied) >> 1
    const middle = { applied, value: run(applied) }
    if (before.value - middle.value >= middle.value - after.value) after = middle
    else before = middle
  }
  const { kind, position, what } = changes[after.applied - 1]
  return {
    ...options,
    simulated: true,
    recorded,
    reference,
    reproduced,
    changes: changes.length,
    runs,
    cause: { kind, position, what },
  }
}

/** What a run of the learner starts from, and what it goes through. */
type Stretch = BisectOptions & {
  readonly config: Config
  readonly changes: readonly Change[]
  readonly skill: number
  readonly judge: number
  readonly tasks: ReadonlyMap<string, Task>
  readonly plans: readonly LoggedEvent<'IterationPlanned'>[]
  /** Of the metric's split; empty where it is none. */
  readonly evaluated: readonly Task[]
}

function stretchOf(
  log: LogReader,
  options: BisectOptions,
  config: Config,
  changes: readonly Change[],
): Stretch {
  const { metric, good, bad } = options
  const added = ofType(log, 'TaskAdded')
  const tasks = new Map(
    [...added, ...ofType(log, 'TaskProposed')].map(({ data }) => [data.task.id, data.task]),
  )
  const plans = Array.from({ length: bad - good }, (_, i) => {
    const plan = log.byKey(`IterationPlanned/${good + 1 + i}`)
    if (plan?.type !== 'IterationPlanned') throw unknown(log, `no plan of iteration ${good + 1 + i}`)
    return plan
  })
  const evaluated = added.flatMap(({ data }) => (data.split === metric ? [data.task] : []))
  const skill = recordedAt(log, 'skill', good)
  const judge = recordedAt(log, 'judge', good)
  return { ...options, config, changes, skill, judge, tasks, plans, evaluated }
}

/** The metric at the last iteration, with the first `applied` of the changes and no others. */
function simulate(stretch: Stretch, applied: number): number {
  const { tasks, plans, evaluated, metric, good } = stretch
  const changes = stretch.changes.slice(0, applied)
  const origin = undoing(stretch.changes.slice(applied))
  const judges = new Map(
    changes.flatMap((change) => (change.kind === 'reward-model-update' ? [versionOf(change)] : [])),
  )
  let { skill, judge: accuracy } = stretch
  let share = 0
  for (const { position, data } of plans) {
    const config = changes.reduce(
      (now, change) => ('leaf' in change && change.position < position ? withLeaf(now, change.leaf) : now),
      stretch.config,
    )
    const groups = data.groups
      .filter(({ purpose }) => purpose === 'train')
      .flatMap(({ slot, task }) => {
        const active = tasks.get(origin(task))
        return active ? [groupOf(slot, active, skill, data.rolloutsPerTask)] : []
      })
    share = stableMean(groups.map((group) => accuracyOf(group.accuracy)))
    if (data.rolloutsPerTask >= config.environment.minGroupSize) {
      const { iteration } = data
      const job = {
        iteration,
        version: iteration,
        parentVersion: iteration - 1,
        groups,
        seed: [0, 0] as const,
      }
      skill = simulatedUpdate('policy', job, { skill, accuracy }, config).metrics.skill
    }
    accuracy = judges.get(data.iteration) ?? accuracy
  }
  if (metric === 'skill') return skill
  if (metric === 'judge') return accuracy
  if (metric === 'accuracy') return share
  if (evaluated.length === 0)
    throw new RlError(`there is no metric '${metric}' after iteration ${good}`, { code: 'bisect.unknown' })
  return stableMean(evaluated.map((task) => simulatedSuccess(task, skill)))
}

function versionOf({ update }: Extract<Change, { kind: 'reward-model-update' }>): [number, number] {
  return [update.version, update.metrics.accuracy]
}

/** The task that a slot would still hold if these swaps had not been made. */
function undoing(changes: readonly Change[]): (task: string) => string {
  const parents = new Map(
    changes.flatMap((change) =>
      change.kind === 'task-swap' ? [[change.swap.task, change.swap.parent] as const] : [],
    ),
  )
  return function origin(task: string): string {
    const parent = parents.get(task)
    return parent === undefined ? task : origin(parent)
  }
}

function groupOf(slot: string, task: Task, skill: number, n: number): LearnableGroup {
  const accuracy = { successes: n * simulatedSuccess(task, skill), n }
  return { slot, task: task.id, purpose: 'train', accuracy, rollouts: [] }
}

function recordedAt(log: LogReader, metric: string, iteration: number): number {
  const [key, read] = READ.get(metric) ?? [`EvaluationCompleted/${metric}`, accuracyIn]
  const event = log.byKey(`${key}/${iteration}`)
  const value = event ? read(event) : undefined
  if (value === undefined) throw unknown(log, `no ${metric} at iteration ${iteration}`)
  return value
}

function accuracyIn({ type, data }: LoggedEvent): number | undefined {
  if (type === 'IterationCompleted') return accuracyOf(data.accuracy)
  return type === 'EvaluationCompleted' ? accuracyOf(data.rollouts) : undefined
}

/** Where the log has a metric: natural key without the iteration, and its value in the event. */
const READ: ReadonlyMap<string, readonly [string, (event: LoggedEvent) => number | undefined]> = new Map([
  ['accuracy', ['IterationCompleted', accuracyIn]],
  ['skill', ['PolicyUpdated', ({ data }) => ('metrics' in data ? data.metrics.skill : undefined)]],
  ['judge', ['RewardModelUpdated', ({ data }) => ('metrics' in data ? data.metrics.accuracy : undefined)]],
])

function positionOf(log: LogReader, key: string): number {
  const position = log.positionOf('key', key)
  if (position === null) throw unknown(log, `no ${key}`)
  return position
}

function unknown(log: LogReader, what: string): RlError {
  return new RlError(`run '${log.run}' has ${what}`, {
    code: 'bisect.unknown',
    hint: 'metrics are accuracy, skill, judge and the evaluation splits, at iterations that have them',
  })
}
