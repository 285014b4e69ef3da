/** All rollouts of one task in an iteration, side by side. */
import { rolloutName } from '../../actors/decider/names.ts'
import { RlError } from '../../errors.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import type { GroupAdvantages } from '../../replay/why-step.ts'
import type { Cell } from '../logic/answers.ts'
import type { GroupPage, Member } from '../logic/group-page.ts'
import { firstParting } from '../logic/parting.ts'
import { eventAt } from './event-at.ts'
import { groupRollouts, haveTests } from './group.ts'
import { advantagesOf, rewardOf, ruleText } from './group-advantages.ts'
import { decisionOf, goalOf } from './iteration.ts'
import type { OpenRun } from './open-runs.ts'

/** Most rollouts of a group that are shown. */
const MOST = 64

/** @throws RlError `ui.no-group` */
export function groupPage({ log }: OpenRun, iteration: number, slot: string, at: number): GroupPage {
  const first = eventAt(log, `RolloutRequested/${rolloutName(iteration, slot, 0)}`, at)
  if (first?.type !== 'RolloutRequested') throw noGroup(log, iteration, slot, at)
  const { task, purpose, split } = first.data
  const update = eventAt(log, `PolicyUpdated/${iteration}`, at)
  const trained = new Set(update?.type === 'PolicyUpdated' ? update.data.trainedOn : [])
  const cells = groupRollouts(log, iteration, slot, sizeOf(log, iteration, slot, at), at, trained)
  const played = cells.map(({ rollout }) => eventAt(log, `Rollout/${rollout}`, at))
  const some = played.find((event) => event?.type === 'TrajectoryCompleted')
  // Advantages are known once the group is whole. The update says that it was.
  const group =
    some?.type === 'TrajectoryCompleted' && update !== null
      ? advantagesOf(log, some as LoggedEvent<'TrajectoryCompleted'>)
      : null
  const members = cells.map((cell, i) => memberOf(log, cell, played[i] ?? null, group, at))
  return {
    iteration,
    slot,
    task,
    purpose,
    split,
    goal: goalOf(log, slot, task),
    begin: some?.type === 'TrajectoryCompleted' ? (some.data.observations[0] ?? null) : null,
    members,
    parting: firstParting(
      members
        .filter(({ cell }) => cell.state === 'played')
        .map(({ steps }) => steps.map(({ action }) => action)),
    ),
    programs: haveTests(log, cells, at),
    rule: group === null ? null : ruleText(group),
    unused: group?.unused ?? null,
    decision: purpose === 'evaluation' ? null : decisionOf(log, slot, iteration, at),
  }
}

function sizeOf(log: LogReader, iteration: number, slot: string, at: number): number {
  for (let size = 1; size < MOST; size++) {
    const position = log.positionOf('key', `RolloutRequested/${rolloutName(iteration, slot, size)}`)
    if (position === null || position > at) return size
  }
  return MOST
}

function memberOf(
  log: LogReader,
  cell: Cell,
  event: LoggedEvent | null,
  group: GroupAdvantages | null,
  at: number,
): Member {
  if (event?.type !== 'TrajectoryCompleted') return { cell, reward: null, advantage: null, steps: [] }
  const scored = new Map(
    log
      .byStream(`rollout/${cell.rollout}`)
      .flatMap((one) =>
        one.type === 'StepScored' && one.position <= at ? [[one.data.step, one.data] as const] : [],
      ),
  )
  const advantages = group?.of(cell.rollout)
  const steps = event.data.actions.map((action, step) => {
    const judged = scored.get(step)
    return {
      action,
      verdict: judged?.judgements.reduce((sum, { score }) => sum + score, 0) ?? null,
      probability: judged?.probability ?? null,
      reward: rewardOf(group, cell.rollout, step),
      advantage: advantages?.[step] ?? null,
    }
  })
  return {
    cell,
    reward: sumOf(steps.map(({ reward }) => reward)),
    advantage: sumOf(steps.map(({ advantage }) => advantage)),
    steps,
  }
}

function sumOf(values: readonly (number | null)[]): number | null {
  return values.reduce((sum, value) => (value === null ? sum : (sum ?? 0) + value), null)
}

function noGroup(log: LogReader, iteration: number, slot: string, at: number): RlError {
  const plan = eventAt(log, `IterationPlanned/${iteration}`, at)
  const first = plan?.type === 'IterationPlanned' ? plan.data.groups[0]?.slot : undefined
  return new RlError(
    `iteration ${iteration} of run '${log.run}' plays no task '${slot.slice(0, 64)}' at position ${at}`,
    {
      code: 'ui.no-group',
      hint:
        first === undefined
          ? 'the page of iterations lists them'
          : `one of its tasks is that of slot ${first}`,
    },
  )
}
