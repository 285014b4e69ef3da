/** The completed iterations of a log, with all that rewards and decisions on candidates follow from. */
import { seeRate } from '../actors/policy/pass-rates.ts'
import type { JudgedStep, Outcome } from '../actors/policy/rewarded-rollout.ts'
import { loggedConfig } from '../config.ts'
import type { Config } from '../config-schema/schema.ts'
import type { EventData, LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { wholeTrajectory } from '../events/stored-segments.ts'
import { openRateBook, type PassRates } from '../learning/pass-rates.ts'
import type { Need } from '../learning/rules.ts'

export type PlayedOut = Outcome & Pick<EventData<'TrajectoryCompleted'>, 'index'>

type PlayedGroup = {
  readonly slot: string
  readonly task: string
  readonly candidate: boolean
  /** Number of rollouts that it was to have. */
  readonly asked: number
  readonly rollouts: PlayedOut[]
}

type CandidateDecision = LoggedEvent<'TaskAccepted'> | LoggedEvent<'TaskRejected'>

export type CompletedIteration = {
  readonly iteration: number
  /** The config under which it was played. */
  readonly config: Config
  /** By slot. */
  readonly groups: ReadonlyMap<string, PlayedGroup>
  readonly scored: readonly JudgedStep[]
  /** Decisions on candidates that were played. */
  readonly decisions: readonly CandidateDecision[]
  /** Pass rates of the groups until this iteration. Null if no rule reads them. */
  readonly rates: PassRates | null
}

type Open = {
  readonly groups: Map<string, PlayedGroup>
  readonly scored: JudgedStep[]
  readonly decisions: CandidateDecision[]
}

const READ = [
  'RunStarted',
  'IterationPlanned',
  'TrajectoryCompleted',
  'StepScored',
  'TaskAccepted',
  'TaskRejected',
  'IterationCompleted',
] as const

/**
 * Reads the iterations in order of their completion.
 *
 * @param needs fields of rollouts to keep. Texts and tokens of a whole iteration would fill the memory, so others are dropped.
 */
export function* completedIterations(
  log: LogReader,
  needs: ReadonlySet<Need>,
): Generator<CompletedIteration> {
  let config = loggedConfig(startsOf(log).first.data.config)
  const iterations = new Map<number, Open>()
  const rates = needs.has('passRates') ? openRateBook() : null
  for (const event of log.events({ types: READ })) {
    if (event.type === 'RunStarted') config = loggedConfig(event.data.config)
    else if (event.type === 'IterationPlanned')
      iterations.set(event.data.iteration, openIteration(event.data))
    else if (event.type === 'TrajectoryCompleted') {
      const { iteration, slot, purpose, outcome } = event.data
      if (rates) seeRate(rates, event.data)
      const group = purpose === 'evaluation' ? undefined : iterations.get(iteration)?.groups.get(slot)
      if (group && outcome.kind === 'scored') group.rollouts.push(keptOf(event.data, needs, log))
    } else if (event.type === 'StepScored') {
      const { rollout, step, judgements, probability, progress, fall, estimate, iteration } = event.data
      const scores = judgements.map(({ score, criterion }) =>
        criterion === undefined ? { score } : { score, criterion },
      )
      iterations.get(iteration)?.scored.push({
        rollout,
        step,
        probability,
        progress,
        judgements: scores,
        ...(fall === undefined ? {} : { fall }),
        ...(estimate === undefined ? {} : { estimate }),
      })
    } else if (event.type === 'TaskAccepted' || event.type === 'TaskRejected') {
      if (event.data.task !== null) iterations.get(event.data.iteration)?.decisions.push(event)
    } else if (event.type === 'IterationCompleted') {
      const { iteration } = event.data
      const open = iterations.get(iteration)
      iterations.delete(iteration)
      if (open) yield { iteration, config, ...open, rates: rates?.until(iteration) ?? null }
    }
  }
}

function openIteration({ groups, rolloutsPerTask }: EventData<'IterationPlanned'>): Open {
  return {
    groups: new Map(
      groups.map(({ slot, task, purpose, rollouts: asked = rolloutsPerTask }) => [
        slot,
        { slot, task, candidate: purpose === 'candidate', asked, rollouts: [] },
      ]),
    ),
    scored: [],
    decisions: [],
  }
}

function keptOf(
  trajectory: EventData<'TrajectoryCompleted'>,
  needs: ReadonlySet<Need>,
  log: LogReader,
): PlayedOut {
  const { rollout, index, outcome, steps, actions, usage, ended, observations } = trajectory
  const { invalid, invalidU8, errorsU8, timing, entropiesF32, baseLogprobsF32, roles, reference } = trajectory
  const { trace } = trajectory
  const reads = (...fields: readonly Need[]) => fields.some((field) => needs.has(field))
  return {
    ...{ rollout, index, outcome, steps, actions, usage, ended, invalid, invalidU8, errorsU8, timing },
    ...(reads('observations', 'noops', 'errors') ? { observations } : {}),
    ...(reads('logprobs') ? { segments: wholeTrajectory(trajectory, log).segments } : {}),
    ...(reads('entropies') ? { entropiesF32 } : {}),
    ...(reads('baseLogprobs') ? { baseLogprobsF32 } : {}),
    ...(reads('roles') ? { roles } : {}),
    ...(reads('reference') ? { reference } : {}),
    ...(trace ? { trace } : {}),
  }
}

/**
 * Returns the groups that may be learned from under these rules: active tasks, and accepted candidates.
 *
 * @param accepted whether the candidate of a slot was accepted
 */
export function learnableGroups(
  { groups }: CompletedIteration,
  accepted: ReadonlyMap<string, boolean>,
  minGroupSize: number,
): { readonly task: string; readonly rollouts: readonly string[] }[] {
  return [...groups.values()]
    .filter(
      ({ slot, candidate, rollouts }) =>
        rollouts.length >= minGroupSize && (!candidate || accepted.get(slot) === true),
    )
    .map(({ task, rollouts }) => {
      const inOrder = [...rollouts].sort((a, b) => a.index - b.index)
      return { task, rollouts: inOrder.map(({ rollout }) => rollout) }
    })
}
