/** One rollout, step by step: what was seen and done, the verdicts, the rewards, and the sampled tokens. */

import { RlError } from '../../errors.ts'
import type { EventData, LoggedEvent } from '../../events/catalogue.ts'
import { readFloat32, readInt32 } from '../../events/columns.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { wholeTrajectory } from '../../events/stored-segments.ts'
import { itemAt } from '../../item-at.ts'
import { majorityVerdict } from '../../learning/judge-quality.ts'
import { progressLabel } from '../../learning/progress-labels.ts'
import { nearest } from '../../nearest.ts'
import type { GroupAdvantages } from '../../replay/why-step.ts'
import type { StepRow, TokenRow, TrajectoryPage } from '../logic/answers.ts'
import { pathOfRollout } from '../logic/route.ts'
import { eventAt } from './event-at.ts'
import { framesOf } from './frames.ts'
import { groupRollouts } from './group.ts'
import { advantagesOf, rewardOf, ruleText } from './group-advantages.ts'
import { goalOf } from './iteration.ts'
import { NotHere } from './not-here.ts'
import type { OpenRun } from './open-runs.ts'
import { type TokenTexts, tokenTexts } from './token-texts.ts'

/** @throws RlError `ui.no-rollout` */
export function trajectoryPage({ log }: OpenRun, rollout: string, at: number): TrajectoryPage {
  const played = eventAt(log, `Rollout/${rollout}`, at)
  if (played?.type !== 'TrajectoryCompleted') throw noRollout(log, rollout, at, played)
  const { storedSegments } = played.data
  const isHere = storedSegments === undefined || log.blobs.has(storedSegments.sha256)
  const data = isHere ? wholeTrajectory(played.data, log) : played.data
  const plan = eventAt(log, `IterationPlanned/${data.iteration}`, at)
  const planned = plan?.type === 'IterationPlanned' ? plan.data : null
  const own = planned?.groups.find(({ slot }) => slot === data.slot)
  const perTask = own?.rollouts ?? planned?.rolloutsPerTask ?? 0
  const update = eventAt(log, `PolicyUpdated/${data.iteration}`, at)
  const trained = new Set(update?.type === 'PolicyUpdated' ? update.data.trainedOn : [])
  const stream = log.byStream(`rollout/${rollout}`).filter(({ position }) => position <= at)
  const scored = new Map(
    stream.flatMap((event) => (event.type === 'StepScored' ? [[event.data.step, event] as const] : [])),
  )
  const tested = stream.find((event) => event.type === 'ProgramTested')
  const group = advantagesOf(log, played as LoggedEvent<'TrajectoryCompleted'>)
  const texts = tokenTexts(log, data.policyVersion)
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
    rule: group === null ? null : ruleText(group),
    steps: data.actions.map((_, step) => stepRow(data, step, scored.get(step), group, texts)),
    last: data.observations.at(-1) ?? '',
    group:
      data.purpose === 'evaluation'
        ? []
        : groupRollouts(log, data.iteration, data.slot, perTask, at, trained),
    tokensIn: isHere ? null : storedSegments.store,
    frames: framesOf(log, rollout, at),
    chats: eventAt(log, `CallsRecorded/${rollout}`, at) !== null,
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
  const nearRollout = nearestRollout(log, rollout, at)
  return new NotHere(`run '${log.run}' has no trajectory '${shown}' at position ${at}`, {
    near:
      later !== null
        ? { at: String(later) }
        : nearRollout === null
          ? {}
          : { path: pathOfRollout(log.run, nearRollout) },
    code: 'ui.no-rollout',
    hint:
      later !== null
        ? `it ends at position ${later}`
        : last?.type === 'TrajectoryCompleted'
          ? `the nearest is ${nearRollout}, the last one ${last.data.rollout}`
          : 'no rollout has ended yet',
  })
}

/** The rollout of the same group, or else of the same iteration, or else the last one. */
function nearestRollout(log: LogReader, rollout: string, at: number): string | null {
  const [iteration, slot] = rollout.split('/')
  const plan = eventAt(log, `IterationPlanned/${iteration}`, at)
  const slots = plan?.type === 'IterationPlanned' ? plan.data.groups.map((group) => group.slot) : []
  const name = nearest(slot ?? '', slots) ?? slots[0]
  const found = name === undefined ? null : eventAt(log, `Rollout/${iteration}/${name}/0`, at)
  if (found?.type === 'TrajectoryCompleted') return found.data.rollout
  const last = log.newest(['TrajectoryCompleted'], at)
  return last?.type === 'TrajectoryCompleted' ? last.data.rollout : null
}

function stepRow(
  data: EventData<'TrajectoryCompleted'>,
  step: number,
  scored: LoggedEvent<'StepScored'> | LoggedEvent | undefined,
  group: GroupAdvantages | null,
  texts: TokenTexts,
): StepRow {
  const judged = scored?.type === 'StepScored' ? scored.data : null
  const own = group?.rewarded.find(({ id }) => id === data.rollout)
  return {
    step,
    action: itemAt(data.actions, step),
    reasoning: data.reasoning?.[step] || null,
    before: itemAt(data.observations, step),
    after: itemAt(data.observations, step + 1),
    votes: (judged?.judgements ?? []).map(({ score, critique, reasoning }) => ({
      score,
      critique,
      reasoning: reasoning ?? null,
    })),
    probability: judged?.probability ?? null,
    progress: judged?.progress ?? null,
    isMisjudged: judged === null ? null : isMisjudged(judged),
    score: own?.scores[step] ?? null,
    reward: rewardOf(group, data.rollout, step),
    advantage: group?.of(data.rollout)?.[step] ?? null,
    position: scored?.position ?? null,
    tokens: tokensOf(data, step, texts),
  }
}

function isMisjudged({ judgements, progress }: EventData<'StepScored'>): boolean | null {
  if (progress === null || judgements.length === 0) return null
  return majorityVerdict(judgements.map(({ score }) => score)) !== progressLabel(progress)
}

/**
 * Tokens of a step with their log-probs, from the segment that holds it. After the last sampled one the next prompt
 * begins.
 */
function tokensOf(
  { segments }: EventData<'TrajectoryCompleted'>,
  step: number,
  texts: TokenTexts,
): TokenRow[] {
  for (const segment of segments) {
    const starts = readInt32(segment.stepStartI32)
    const own = step - segment.firstStep
    if (own < 0 || own >= starts.length) continue
    const tokens = readInt32(segment.tokensI32)
    const logprobs = readFloat32(segment.logprobsF32)
    const offsets = segment.allowedOffsetsI32 ? readInt32(segment.allowedOffsetsI32) : null
    const next = own + 1 < starts.length ? itemAt(starts, own + 1) : tokens.length
    const end = segment.maskU8.subarray(0, next).lastIndexOf(1) + 1
    const rows: TokenRow[] = []
    for (let at = itemAt(starts, own); at < end; at++) {
      const allowed = offsets === null ? 0 : itemAt(offsets, at + 1) - itemAt(offsets, at)
      rows.push({
        id: itemAt(tokens, at),
        text: texts(itemAt(tokens, at)),
        logprob: segment.maskU8[at] === 1 ? itemAt(logprobs, at) : null,
        allowed: allowed === 0 ? null : allowed,
      })
    }
    return rows
  }
  return []
}
