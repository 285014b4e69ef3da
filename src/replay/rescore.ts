/** Rewards, advantages, filters and acceptance of a whole run under other rules, from its stored votes: no model is asked. */
import { decisionOn } from '../actors/environment/slots.ts'
import { type BatchSettings, policyAdvantages } from '../actors/policy/policy-advantages.ts'
import type { JudgedStep } from '../actors/policy/rewarded-rollout.ts'
import { changeConfig, loggedConfig } from '../config.ts'
import type { EventData, LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { checkRescored } from './rescored-keys.ts'

/** A task's rollouts of an iteration with steps whose advantage has another sign. */
type ChangedGroup = {
  readonly iteration: number
  readonly slot: string
  readonly task: string
  readonly steps: number
  /** Steps that were pushed up and are now pushed down, or the other way round. */
  readonly turned: number
  /** Steps that were trained and are not now, or the other way round. */
  readonly switched: number
}

type FlippedTask = {
  readonly iteration: number
  readonly slot: string
  readonly task: string
  readonly before: { readonly accepted: boolean; readonly reason: string }
  readonly after: { readonly accepted: boolean; readonly reason: string }
}

/** Sums over the run, under one set of rules. */
type Totals = {
  tasksTrained: number
  trainedSteps: number
  /** Sum over the trained steps of how far each is pushed, up or down. */
  push: number
  accepted: number
}

/** Result over the completed iterations. */
export type Rescore = {
  readonly iterations: number
  readonly trajectories: number
  readonly steps: number
  readonly decisions: number
  /** Steps that are pushed the same way as before, and harder or softer. */
  readonly moved: number
  readonly before: Readonly<Totals>
  readonly after: Readonly<Totals>
  /** Groups in which at least one advantage changed its sign or became or ceased to be 0. */
  readonly changed: readonly ChangedGroup[]
  readonly flipped: readonly FlippedTask[]
}

/** Sums in another order differ in their last digits. */
const SAME = 1e-9

type Group = {
  readonly slot: string
  readonly task: string
  readonly candidate: boolean
  readonly rollouts: Played[]
}
type Played = Pick<
  EventData<'TrajectoryCompleted'>,
  'rollout' | 'index' | 'outcome' | 'steps' | 'actions' | 'usage' | 'ended'
>

type Iteration = {
  readonly groups: Map<string, Group>
  readonly scored: JudgedStep[]
  readonly asked: number
  /** Decisions on candidates by slot, before and after. */
  readonly accepted: Map<string, { before: boolean; after: boolean }>
  readonly flipped: FlippedTask[]
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
 * Computes rewards, advantages and acceptance of a run under other rules.
 * @param set keys in the form of `--set`
 * @throws RlError `rescore.no-effect`
 */
export function rescore(log: LogReader, set: readonly string[]): Rescore {
  checkRescored(set)
  let rules = bothRules(startsOf(log).first, set)
  const iterations = new Map<number, Iteration>()
  const before: Totals = { tasksTrained: 0, trainedSteps: 0, push: 0, accepted: 0 }
  const after: Totals = { ...before }
  const changed: ChangedGroup[] = []
  const flipped: FlippedTask[] = []
  const counts = { iterations: 0, trajectories: 0, steps: 0, decisions: 0, moved: 0 }

  function decide({ data, type }: LoggedEvent<'TaskAccepted'> | LoggedEvent<'TaskRejected'>): void {
    const { task, slot, iteration, accuracy, reason } = data
    const open = iterations.get(iteration)
    if (task === null || !open) return
    const was = { accepted: type === 'TaskAccepted', reason }
    const { accepted, reason: because } = decisionOn({ ...data, task }, accuracy, open.asked, rules.after)
    open.accepted.set(slot, { before: was.accepted, after: accepted })
    if (was.accepted !== accepted)
      open.flipped.push({ iteration, slot, task, before: was, after: { accepted, reason: because } })
  }

  function close(iteration: number): void {
    const open = iterations.get(iteration)
    if (!open) return
    iterations.delete(iteration)
    counts.iterations++
    for (const decision of open.accepted.values()) {
      counts.decisions++
      if (decision.before) before.accepted++
      if (decision.after) after.accepted++
    }
    flipped.push(...open.flipped)
    const was = advantagesOf(open, 'before', rules.before)
    const now = advantagesOf(open, 'after', rules.after)
    for (const [totals, { byRollout, tasksTrained }] of [
      [before, was],
      [after, now],
    ] as const) {
      totals.tasksTrained += tasksTrained
      for (const values of byRollout.values())
        for (const value of values) {
          if (value !== 0) totals.trainedSteps++
          totals.push += Math.abs(value)
        }
    }
    for (const { slot, task, rollouts } of open.groups.values()) {
      counts.trajectories += rollouts.length
      let [steps, turned, switched] = [0, 0, 0]
      for (const { rollout, steps: length } of rollouts) {
        const old = was.byRollout.get(rollout)
        const other = now.byRollout.get(rollout)
        steps += length
        for (let step = 0; step < length; step++) {
          const [was, is] = [old?.[step] ?? 0, other?.[step] ?? 0]
          const [a, b] = [Math.sign(was), Math.sign(is)]
          if (a * b < 0) turned++
          else if (a !== b) switched++
          else if (Math.abs(was - is) > SAME * Math.abs(was)) counts.moved++
        }
      }
      counts.steps += steps
      if (turned + switched > 0) changed.push({ iteration, slot, task, steps, turned, switched })
    }
  }

  for (const event of log.events({ types: READ })) {
    if (event.type === 'RunStarted') rules = bothRules(event, set)
    else if (event.type === 'IterationPlanned')
      iterations.set(event.data.iteration, openIteration(event.data))
    else if (event.type === 'TrajectoryCompleted') {
      const { iteration, slot, purpose, outcome } = event.data
      const group = purpose === 'evaluation' ? undefined : iterations.get(iteration)?.groups.get(slot)
      if (!group || outcome.kind !== 'scored') continue
      group.rollouts.push(played(event.data))
    } else if (event.type === 'StepScored') {
      const { rollout, step, judgements, probability, progress, iteration } = event.data
      const scores = judgements.map(({ score }) => ({ score }))
      iterations.get(iteration)?.scored.push({ rollout, step, probability, progress, judgements: scores })
    } else if (event.type === 'TaskAccepted' || event.type === 'TaskRejected') decide(event)
    else if (event.type === 'IterationCompleted') close(event.data.iteration)
  }
  return { ...counts, before, after, changed, flipped }
}

function bothRules(started: LoggedEvent<'RunStarted'>, set: readonly string[]) {
  const before = loggedConfig(started.data.config)
  return { before, after: changeConfig(before, set) }
}

function openIteration({ groups, rolloutsPerTask }: EventData<'IterationPlanned'>): Iteration {
  return {
    groups: new Map(
      groups.map(({ slot, task, purpose }) => [
        slot,
        { slot, task, candidate: purpose === 'candidate', rollouts: [] },
      ]),
    ),
    scored: [],
    asked: rolloutsPerTask,
    accepted: new Map(),
    flipped: [],
  }
}

/** Drops texts and tokens: those of a whole iteration would fill the memory. */
function played({ rollout, index, outcome, steps, actions, usage, ended }: Played): Played {
  return { rollout, index, outcome, steps, actions, usage, ended }
}

/**
 * Returns advantages of the groups that may be learned from under these rules: active tasks, and accepted
 * candidates.
 */
function advantagesOf(
  { groups, scored, accepted }: Iteration,
  when: 'before' | 'after',
  config: BatchSettings,
) {
  const learnable = [...groups.values()]
    .filter(
      ({ slot, candidate, rollouts }) =>
        rollouts.length >= config.environment.minGroupSize &&
        (!candidate || accepted.get(slot)?.[when] === true),
    )
    .map(({ task, rollouts }) => {
      const inOrder = [...rollouts].sort((a, b) => a.index - b.index)
      return { task, rollouts: inOrder.map(({ rollout }) => rollout) }
    })
  const all = [...groups.values()].flatMap(({ rollouts }) => rollouts)
  const { byRollout, health } = policyAdvantages(learnable, all, scored, config)
  return {
    byRollout,
    tasksTrained: health.tasksTrained ?? 0,
  }
}
