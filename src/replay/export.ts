/** A run for other tools: its trajectories with rewards and advantages, and its figures, as plain rows. */
import { readsPassRates, seeRate } from '../actors/policy/pass-rates.ts'
import { type BatchSettings, policyAdvantages } from '../actors/policy/policy-advantages.ts'
import type { JudgedStep } from '../actors/policy/rewarded-rollout.ts'
import { samplingOf } from '../actors/policy/sampling.ts'
import { loggedConfig } from '../config.ts'
import type { EventData, LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { wholeTrajectory } from '../events/stored-segments.ts'
import { openRateBook, type RateBook } from '../learning/pass-rates.ts'
import { type TrajectoryFacts, type TrajectoryRow, trajectoryRow } from './trajectory-row.ts'

type Trajectory = LoggedEvent<'TrajectoryCompleted'>

type Open = {
  readonly plan: EventData<'IterationPlanned'>
  readonly trajectories: Trajectory[]
  readonly scored: JudgedStep[]
  readonly rejected: Set<string>
}

type Known = LoggedEvent<'TaskAdded'> | LoggedEvent<'TaskProposed'>
type Found = 'StepScored' | 'ProgramTested' | 'FramesRecorded'

const UNTRAINED = { scores: null, advantages: null }

const READ = [
  'RunStarted',
  'TaskAdded',
  'TaskProposed',
  'IterationPlanned',
  'TrajectoryCompleted',
  'StepScored',
  'TaskRejected',
  'IterationCompleted',
] as const

/**
 * Yields evaluations as they come, other rows when their iteration is completed. Rows of an open iteration
 * come last, without advantages.
 */
export function* trajectoryRows(log: LogReader): Generator<TrajectoryRow> {
  let config = loggedConfig(startsOf(log).first.data.config)
  const open = new Map<number, Open>()
  const { see, row } = openRows(log)
  const rates = openRateBook()
  for (const event of log.events({ types: READ })) {
    const iteration = 'iteration' in event.data ? open.get(event.data.iteration ?? -1) : undefined
    if (event.type === 'TaskAdded' || event.type === 'TaskProposed') see(event)
    else if (event.type === 'RunStarted') config = loggedConfig(event.data.config)
    else if (event.type === 'IterationPlanned')
      open.set(event.data.iteration, { plan: event.data, trajectories: [], scored: [], rejected: new Set() })
    else if (event.type === 'TrajectoryCompleted') {
      if (readsPassRates(config)) seeRate(rates, event.data)
      const whole = { ...event, data: wholeTrajectory(event.data, log) }
      if (iteration && event.data.purpose !== 'evaluation') iteration.trajectories.push(whole)
      else yield row(whole, UNTRAINED)
    } else if (event.type === 'StepScored') iteration?.scored.push(event.data)
    else if (event.type === 'TaskRejected') {
      if (event.data.task !== null) iteration?.rejected.add(event.data.slot)
    } else if (event.type === 'IterationCompleted' && iteration) {
      open.delete(event.data.iteration)
      yield* rowsOf(iteration, config, rates, row)
    }
  }
  for (const { trajectories } of open.values())
    for (const trajectory of trajectories) yield row(trajectory, UNTRAINED)
}

function* rowsOf(
  { plan, trajectories, scored, rejected }: Open,
  config: BatchSettings,
  rates: RateBook,
  row: Elsewhere,
): Generator<TrajectoryRow> {
  const groups = plan.groups
    .filter(({ slot }) => !rejected.has(slot))
    .map(({ slot, task }) => {
      const members = trajectories
        .filter(({ data }) => data.slot === slot && data.outcome.kind === 'scored')
        .sort((a, b) => a.data.index - b.data.index)
      return { task, rollouts: members.map(({ data }) => data.rollout) }
    })
    .filter(({ rollouts }) => rollouts.length >= config.environment.minGroupSize)
  const { rewarded, byRollout } = policyAdvantages(
    groups,
    trajectories.map(({ data }) => data),
    scored,
    config,
    readsPassRates(config) ? rates.until(plan.iteration) : null,
  )
  const scores = new Map(rewarded.map((rollout) => [rollout.id, rollout.scores]))
  for (const trajectory of trajectories) {
    const { rollout, steps } = trajectory.data
    const own = scores.get(rollout)
    const values = byRollout.get(rollout)
    const advantages = own ? [...(values ?? new Float64Array(steps))] : null
    yield row(trajectory, { scores: own ?? null, advantages })
  }
}

/** Facts about trajectories that the log holds outside their own events. */
type Elsewhere = (
  trajectory: Trajectory,
  credit: Pick<TrajectoryFacts, 'scores' | 'advantages'>,
) => TrajectoryRow

function openRows(log: LogReader): { readonly see: (task: Known) => void; readonly row: Elsewhere } {
  /** Tasks by slot and id: two slots may have come to the same task. */
  const tasks = new Map<string, Known['data']['task']>()
  const temperatureOf = temperatures(log)
  const fact = <T extends Found>(type: T, key: string): EventData<T> | null => {
    const event = log.byKey(`${type}/${key}`)
    return event?.type === type ? (event.data as EventData<T>) : null
  }
  return {
    see: ({ data }) => void tasks.set(`${data.slot} ${data.task.id}`, data.task),
    row(event, credit) {
      const { rollout, steps, slot, task } = event.data
      return trajectoryRow({
        event,
        ...credit,
        task: tasks.get(`${slot} ${task}`) ?? null,
        temperature: temperatureOf(event),
        judged: Array.from({ length: steps }, (_, step) => fact('StepScored', `${rollout}/${step}`)),
        tested: fact('ProgramTested', rollout),
        frames: fact('FramesRecorded', rollout),
      })
    },
  }
}

/**
 * Returns the temperature at which a trajectory was sampled, by the config that held then. It is null if agents outside play: they
 * choose it.
 */
function temperatures(log: LogReader): (trajectory: Trajectory) => number | null {
  const starts = [...log.events({ types: ['RunStarted'] })].map(({ position, data }) => {
    const { policy, evaluation, environment } = loggedConfig(data.config)
    return { position, outside: environment.player === 'gateway', sampling: samplingOf(policy, evaluation) }
  })
  return ({ position, data }) => {
    const start = starts.findLast((one) => one.position < position)
    return !start || start.outside ? null : start.sampling(data.purpose === 'evaluation').temperature
  }
}

/** Figures of one event. `step` is the iteration, in the words of experiment trackers. */
export type MetricRow = {
  readonly step: number
  /** Milliseconds since 1970. */
  readonly time: number
  readonly metrics: Readonly<Record<string, number>>
}

const MEASURED = ['IterationCompleted', 'EvaluationCompleted', 'PolicyUpdated', 'RewardModelUpdated'] as const

/**
 * Yields in the order of the log: `train/accuracy`, `evaluation/<split>/accuracy`, `policy/<figure>`,
 * `reward-model/<figure>`.
 */
export function* metricRows(log: LogReader): Generator<MetricRow> {
  for (const event of log.events({ types: MEASURED })) {
    const { time } = event
    if (event.type === 'IterationCompleted') {
      const { iteration, accuracy, metrics } = event.data
      const train = { ...share(accuracy), ...metrics }
      yield { step: iteration, time, metrics: named('train', train) }
    } else if (event.type === 'EvaluationCompleted') {
      const { iteration, split, rollouts, timing, ...figures } = event.data
      yield {
        step: iteration,
        time,
        metrics: named(`evaluation/${split}`, { ...share(rollouts), ...figures }),
      }
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
