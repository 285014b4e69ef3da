/** One rollout, step by step: what was seen and done, the verdicts, the rewards, and the sampled tokens. */
import { RlError } from '../../errors.ts'
import type { EventData, LoggedEvent } from '../../events/catalogue.ts'
import { readFloat32, readInt32 } from '../../events/columns.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { type GroupAdvantages, groupAdvantages } from '../../replay/why-step.ts'
import type { StepRow, TokenRow, TrajectoryPage } from '../logic/answers.ts'
import { eventAt } from './event-at.ts'
import { groupRollouts } from './group.ts'
import { goalOf } from './iteration.ts'
import type { OpenRun } from './open-runs.ts'

/** @throws RlError `ui.no-rollout` */
export function trajectoryPage({ log }: OpenRun, rollout: string, at: number): TrajectoryPage {
  const played = eventAt(log, `Rollout/${rollout}`, at)
  if (played?.type !== 'TrajectoryCompleted') throw noRollout(log, rollout, at, played)
  const { data } = played
  const plan = eventAt(log, `IterationPlanned/${data.iteration}`, at)
  const perTask = plan?.type === 'IterationPlanned' ? plan.data.rolloutsPerTask : 0
  const update = eventAt(log, `PolicyUpdated/${data.iteration}`, at)
  const trained = new Set(update?.type === 'PolicyUpdated' ? update.data.trainedOn : [])
  const stream = log.byStream(`rollout/${rollout}`).filter(({ position }) => position <= at)
  const scored = new Map(
    stream.flatMap((event) => (event.type === 'StepScored' ? [[event.data.step, event] as const] : [])),
  )
  const tested = stream.find((event) => event.type === 'ProgramTested')
  const group = groupAdvantages(log, played as LoggedEvent<'TrajectoryCompleted'>)
  return {
    rollout,
    iteration: data.iteration,
    purpose: data.purpose,
    split: data.split,
    slot: data.slot,
    task: data.task,
    goal: goalOf(log, data.slot, data.task),
    policyVersion: data.policyVersion,
    outcome: data.outcome,
    ended: data.ended,
    position: played.position,
    trainedBy: trained.has(rollout) ? data.iteration : null,
    unused: group?.unused ?? null,
    rule: group === null ? null : ruleOf(group),
    steps: data.actions.map((_, step) => stepRow(data, step, scored.get(step), group)),
    last: data.observations.at(-1) ?? '',
    group:
      data.purpose === 'evaluation'
        ? []
        : groupRollouts(log, data.iteration, data.slot, perTask, at, trained),
    tests:
      tested?.type === 'ProgramTested'
        ? tested.data.verdicts.map((verdict, i) => ({ verdict, passed: tested.data.passedU8[i] === 1 }))
        : null,
  }
}

function noRollout(log: LogReader, rollout: string, at: number, found: LoggedEvent | null): RlError {
  const shown = rollout.slice(0, 100)
  if (found?.type === 'RolloutFailed')
    return new RlError(`rollout '${shown}' failed: ${found.data.error}`, {
      code: 'ui.no-rollout',
      hint: 'a failed rollout has no trajectory',
    })
  const later = log.positionOf('key', `Rollout/${rollout}`)
  const last = log.newest(['TrajectoryCompleted'], at)
  return new RlError(`run '${log.run}' has no trajectory '${shown}' at position ${at}`, {
    code: 'ui.no-rollout',
    hint:
      later !== null
        ? `it ends at position ${later}`
        : last?.type === 'TrajectoryCompleted'
          ? `the last one is ${last.data.rollout}`
          : 'no rollout has ended yet',
  })
}

function ruleOf({ learning }: GroupAdvantages): string {
  const { reward, lambda, advantage, expert } = learning
  return `${reward} reward, λ ${lambda}, ${advantage} advantages, std floor ${expert.stdFloor}`
}

function stepRow(
  data: EventData<'TrajectoryCompleted'>,
  step: number,
  scored: LoggedEvent<'StepScored'> | LoggedEvent | undefined,
  group: GroupAdvantages | null,
): StepRow {
  const judged = scored?.type === 'StepScored' ? scored.data : null
  const own = group?.rewarded.find(({ id }) => id === data.rollout)
  const score = own?.scores[step] ?? null
  return {
    step,
    action: data.actions[step],
    reasoning: data.reasoning?.[step] || null,
    before: data.observations[step],
    after: data.observations[step + 1],
    votes: (judged?.judgements ?? []).map(({ score, critique, reasoning }) => ({
      score,
      critique,
      reasoning: reasoning ?? null,
    })),
    probability: judged?.probability ?? null,
    progress: judged?.progress ?? null,
    score,
    reward:
      own === undefined || group === null
        ? null
        : group.weights.outcome * own.outcome + group.weights.step * (score ?? 0),
    advantage: group?.of(data.rollout)?.[step] ?? null,
    position: scored?.position ?? null,
    tokens: tokensOf(data, step),
  }
}

/** Sampled tokens of a step with their log-probs, from the segment that holds it. */
function tokensOf({ segments }: EventData<'TrajectoryCompleted'>, step: number): TokenRow[] {
  for (const segment of segments) {
    const starts = readInt32(segment.stepStartI32)
    const own = step - segment.firstStep
    if (own < 0 || own >= starts.length) continue
    const tokens = readInt32(segment.tokensI32)
    const logprobs = readFloat32(segment.logprobsF32)
    const offsets = segment.allowedOffsetsI32 ? readInt32(segment.allowedOffsetsI32) : null
    const end = own + 1 < starts.length ? starts[own + 1] : tokens.length
    const rows: TokenRow[] = []
    for (let at = starts[own]; at < end; at++) {
      if (segment.maskU8[at] !== 1) continue
      const allowed = offsets === null ? 0 : offsets[at + 1] - offsets[at]
      rows.push({
        id: tokens[at],
        logprob: logprobs[at],
        allowed: allowed === 0 ? null : allowed,
      })
    }
    return rows
  }
  return []
}
