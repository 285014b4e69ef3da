/** A run for other tools: its trajectories with rewards and advantages, and its figures, as plain rows. */
import { type JudgedStep, policyAdvantages } from '../actors/policy/batch.ts'
import { type Config, loggedConfig } from '../config.ts'
import type { EventData, LoggedEvent } from '../events/catalogue.ts'
import { readFloat32, readInt32 } from '../events/columns.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'

type Trajectory = LoggedEvent<'TrajectoryCompleted'>

/** One trajectory. Token columns are of all its segments, one after the other. */
export type TrajectoryRow = {
  readonly position: number
  readonly rollout: string
  readonly iteration: number
  readonly purpose: string
  readonly split: string
  readonly slot: string
  readonly task: string
  readonly index: number
  readonly policy_version: number
  /** Null where the environment abstained. */
  readonly success: boolean | null
  readonly ended: string
  readonly steps: number
  /** [steps + 1] and [steps]. */
  readonly observations: readonly string[]
  readonly actions: readonly string[]
  /** [steps]: what enters the step reward beside the outcome; null where it was not trained on (evaluations, abstentions). */
  readonly scores: readonly number[] | null
  /** [steps]: 0 for a step that is not trained. Null as above. */
  readonly advantages: readonly number[] | null
  /** [T] */
  readonly tokens: readonly number[]
  /** [T]: 1 where the token was sampled. */
  readonly mask: readonly number[]
  /** [T] */
  readonly logprobs: readonly number[]
}

type Open = {
  readonly plan: EventData<'IterationPlanned'>
  readonly trajectories: Trajectory[]
  readonly scored: JudgedStep[]
  readonly rejected: Set<string>
}

const READ = [
  'RunStarted',
  'IterationPlanned',
  'TrajectoryCompleted',
  'StepScored',
  'TaskRejected',
  'IterationCompleted',
] as const

/** Evaluations as they come, the others when their iteration is completed; those of an open iteration last, without advantages. */
export function* trajectoryRows(log: LogReader): Generator<TrajectoryRow> {
  let config = loggedConfig(startsOf(log).first.data.config)
  const open = new Map<number, Open>()
  for (const event of log.events({ types: READ })) {
    const iteration = 'iteration' in event.data ? open.get(event.data.iteration ?? -1) : undefined
    if (event.type === 'RunStarted') config = loggedConfig(event.data.config)
    else if (event.type === 'IterationPlanned')
      open.set(event.data.iteration, { plan: event.data, trajectories: [], scored: [], rejected: new Set() })
    else if (event.type === 'TrajectoryCompleted') {
      if (iteration && event.data.purpose !== 'evaluation') iteration.trajectories.push(event)
      else yield row(event, null, null)
    } else if (event.type === 'StepScored') iteration?.scored.push(event.data)
    else if (event.type === 'TaskRejected') {
      if (event.data.task !== null) iteration?.rejected.add(event.data.slot)
    } else if (event.type === 'IterationCompleted' && iteration) {
      open.delete(event.data.iteration)
      yield* rowsOf(iteration, config)
    }
  }
  for (const { trajectories } of open.values())
    for (const trajectory of trajectories) yield row(trajectory, null, null)
}

function* rowsOf({ plan, trajectories, scored, rejected }: Open, config: Config): Generator<TrajectoryRow> {
  const groups = plan.groups
    .filter(({ slot }) => !rejected.has(slot))
    .map(({ slot, task }) => {
      const members = trajectories
        .filter(({ data }) => data.slot === slot && data.outcome.kind === 'scored')
        .sort((a, b) => a.data.index - b.data.index)
      return { task, rollouts: members.map(({ data }) => data.rollout) }
    })
    .filter(({ rollouts }) => rollouts.length >= config.environment.minGroupSize)
  const { rewarded, trained } = policyAdvantages(
    groups,
    trajectories.map(({ data }) => data),
    scored,
    config,
  )
  const scores = new Map(rewarded.map((rollout) => [rollout.id, rollout.scores]))
  for (const trajectory of trajectories) {
    const { rollout, steps } = trajectory.data
    const own = scores.get(rollout)
    yield row(
      trajectory,
      own ?? null,
      own ? [...(trained.byRollout.get(rollout) ?? new Float64Array(steps))] : null,
    )
  }
}

function row(
  { position, data }: Trajectory,
  scores: readonly number[] | null,
  advantages: readonly number[] | null,
): TrajectoryRow {
  return {
    position,
    rollout: data.rollout,
    iteration: data.iteration,
    purpose: data.purpose,
    split: data.split,
    slot: data.slot,
    task: data.task,
    index: data.index,
    policy_version: data.policyVersion,
    success: data.outcome.kind === 'scored' ? data.outcome.success : null,
    ended: data.ended,
    steps: data.steps,
    observations: data.observations,
    actions: data.actions,
    scores,
    advantages,
    tokens: data.segments.flatMap(({ tokensI32 }) => [...readInt32(tokensI32)]),
    mask: data.segments.flatMap(({ maskU8 }) => [...maskU8]),
    logprobs: data.segments.flatMap(({ logprobsF32 }) => [...readFloat32(logprobsF32)]),
  }
}

/** Figures of one event: `step` is the iteration, as trackers of experiments have it. */
export type MetricRow = {
  readonly step: number
  /** Milliseconds since 1970. */
  readonly time: number
  readonly metrics: Readonly<Record<string, number>>
}

const MEASURED = ['IterationCompleted', 'EvaluationCompleted', 'PolicyUpdated', 'RewardModelUpdated'] as const

/** In order of the log: `train/accuracy`, `evaluation/<split>/accuracy`, `policy/<figure>`, `reward-model/<figure>`. */
export function* metricRows(log: LogReader): Generator<MetricRow> {
  for (const event of log.events({ types: MEASURED })) {
    const { time } = event
    if (event.type === 'IterationCompleted') {
      const { iteration, accuracy, metrics } = event.data
      const train = { ...share(accuracy), ...metrics }
      yield { step: iteration, time, metrics: named('train', train) }
    } else if (event.type === 'EvaluationCompleted') {
      const { iteration, split, rollouts, meanSteps } = event.data
      const figures = { ...share(rollouts), meanSteps }
      yield { step: iteration, time, metrics: named(`evaluation/${split}`, figures) }
    } else {
      const role = event.type === 'PolicyUpdated' ? 'policy' : 'reward-model'
      yield { step: event.data.iteration, time, metrics: named(role, event.data.metrics) }
    }
  }
}

function share({ successes, n }: { successes: number; n: number }): Record<string, number> {
  return n === 0 ? { n } : { accuracy: successes / n, n }
}

function named(group: string, figures: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [`${group}/${name}`, value]))
}
