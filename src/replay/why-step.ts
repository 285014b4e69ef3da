/**
 * Explains the reward of a step: outcome, votes, the group of its comparison, and the update that used it.
 */

import { readsPassRates, seeRate } from '../actors/policy/pass-rates.ts'
import { type PolicyAdvantages, policyAdvantages } from '../actors/policy/policy-advantages.ts'
import type { JudgedStep } from '../actors/policy/rewarded-rollout.ts'
import type { LearningConfig } from '../config-schema/sections.ts'
import type { EventData, LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { wholeTrajectory } from '../events/stored-segments.ts'
import { itemAt } from '../item-at.ts'
import { openRateBook, type PassRates, type RateBook } from '../learning/pass-rates.ts'
import { needsOfBatch, rulesOf } from '../learning/registry.ts'
import type { RewardWeights } from '../learning/rules.ts'
import { configAt } from './config-at.ts'
import { type Node, node } from './tree.ts'
import { groupOf, placed, trajectoryOf, unknown } from './why.ts'

/** `rollout` has the form `3/train-00012/5`. `step` counts from 0. */
export function whyStep(log: LogReader, rollout: string, step: number): Node {
  const trajectory = trajectoryOf(log, rollout)
  if (!trajectory) throw unknown(`run '${log.run}' has no trajectory '${rollout}'`)
  const { steps, outcome, actions, observations, iteration, task, purpose, policyVersion, ended } =
    trajectory.data
  if (step >= steps) throw unknown(`trajectory '${rollout}' has only ${steps} steps, 0 to ${steps - 1}`)
  const result = outcome.kind === 'scored' ? gradeOf(outcome) : outcome.reason
  return node(
    `step ${rollout}#${step}: ${actions[step]}`,
    {
      after: itemAt(observations, step),
      'and then': itemAt(observations, step + 1),
      task,
      purpose,
      'policy version': policyVersion,
      outcome: `${result}${outcome.kind === 'scored' && outcome.reason ? ` (${outcome.reason})` : ''}, ended by ${ended} after ${steps} steps`,
      ...chosenInstead(trajectory, step),
      ...placed(trajectory, log),
    },
    [
      ...noteNodes(log, rollout, step),
      ...verdictNode(log, rollout, step),
      ...advantageNodes(log, trajectory, step),
      ...updateNode(log, rollout, iteration),
    ],
  )
}

/** Tells of a step at which the recorded action took the place of the policy's choice. */
function chosenInstead(
  { data }: LoggedEvent<'TrajectoryCompleted'>,
  step: number,
): Readonly<Record<string, string>> {
  const left = data.trace?.left.find((one) => one.step === step)
  return left ? { 'the policy chose': left.chosen } : {}
}

/** Words for an outcome. A draw or partial credit shows its value. */
function gradeOf({
  value,
  success,
  unsure,
}: {
  readonly value: number
  readonly success: boolean
  readonly unsure?: true | undefined
}): string {
  const graded = success ? 'success' : value === 0 ? 'failure' : `no success, worth ${value}`
  return unsure ? `${graded}, as a guess` : graded
}

function noteNodes(log: LogReader, rollout: string, step: number): Node[] {
  return log.byStream(`rollout/${rollout}`).flatMap((event) =>
    event.type === 'StepNoted' && event.data.step === step
      ? [
          node('noted by somebody', {
            score: event.data.score,
            text: event.data.text,
            ...placed(event, log),
          }),
        ]
      : [],
  )
}

function verdictNode(log: LogReader, rollout: string, step: number): Node[] {
  const scored = scoredOf(log, rollout, step)
  if (!scored) return []
  const { judgements, probability, progress, rewardModelVersion } = scored.data
  return [
    node(
      `judged by reward model version ${rewardModelVersion}`,
      { 'probability of good': probability, 'true progress': progress, ...placed(scored, log) },
      judgements.map(({ score, critique }, i) =>
        node(`vote ${i + 1}: ${VOTES[score]}`, { critique: critique === '' ? null : critique }),
      ),
    ),
  ]
}

const VOTES = { [-1]: 'bad', 0: 'unreadable', 1: 'good' } as const

/** Rewards and advantages of the rollouts that were compared with each other. */
export type GroupAdvantages = {
  readonly learning: LearningConfig
  /** Weights of outcome and score in the reward of a step. */
  readonly weights: RewardWeights
  readonly rewarded: PolicyAdvantages['rewarded']
  /** Advantages of a rollout, [steps]. Undefined if it is not trained on. */
  readonly of: (rollout: string) => ArrayLike<number> | undefined
  /** Share of lambda that the judge is trusted with. Null if it does not estimate. */
  readonly judgeTrust: number | null
  /** Why the group is not learned from, or null. */
  readonly unused: string | null
}

/**
 * Returns the advantages that the config gives to the rollouts of a trajectory's group. Returns null for evaluations,
 * which have none.
 */
export function groupAdvantages(
  log: LogReader,
  { data, position }: LoggedEvent<'TrajectoryCompleted'>,
): GroupAdvantages | null {
  if (data.purpose === 'evaluation') return null
  const config = configAt(log, position)
  const rollouts = groupOf(log, data.iteration, data.slot)
  const needsTokens = needsOfBatch(rulesOf(config)).has('logprobs')
  const played = rollouts
    .flatMap((rollout) => trajectoryOf(log, rollout)?.data ?? [])
    .map((one) => (needsTokens ? wholeTrajectory(one, log) : one))
  const scored = played.flatMap(({ rollout }) =>
    log
      .byStream(`rollout/${rollout}`)
      .flatMap((event): JudgedStep[] => (event.type === 'StepScored' ? [event.data] : [])),
  )
  const { rewarded, kept, byRollout, weights, health } = policyAdvantages(
    [{ task: data.task, rollouts }],
    played,
    scored,
    config,
    readsPassRates(config) ? ratesUntil(log, data.iteration) : null,
  )
  const scoredRollouts = played.filter(({ outcome }) => outcome.kind === 'scored').length
  const unused =
    leftOut(log, data, scoredRollouts, config.environment.minGroupSize) ??
    (kept.length === 0 ? 'the task is not trained on' : null)
  return {
    learning: config.learning,
    weights,
    judgeTrust: health.judgeTrust ?? null,
    rewarded,
    of: (rollout) => (unused === null ? byRollout.get(rollout) : undefined),
    unused,
  }
}

/** Pass rates of a log so far. A page asks for many steps, and the log may grow between them. */
const ratesOf = new WeakMap<LogReader, { readonly book: RateBook; next: number }>()

function ratesUntil(log: LogReader, iteration: number): PassRates {
  const known = ratesOf.get(log) ?? { book: openRateBook(), next: 1 }
  ratesOf.set(log, known)
  for (const { position, data } of log.events({ from: known.next, types: ['TrajectoryCompleted'] })) {
    seeRate(known.book, data)
    known.next = position + 1
  }
  return known.book.until(iteration)
}

/** Advantage that the config gives it among the rollouts of its task. Evaluations have none. */
function advantageNodes(
  log: LogReader,
  trajectory: LoggedEvent<'TrajectoryCompleted'>,
  step: number,
): Node[] {
  const group = groupAdvantages(log, trajectory)
  const own = group?.rewarded.find(({ id }) => id === trajectory.data.rollout)
  if (!group || !own) return []
  const { reward, lambda, advantage, expert } = group.learning
  const of = (rollout: string) => group.of(rollout)?.[step]
  return [
    node(
      `advantage ${of(own.id) ?? 0}`,
      {
        'outcome O': own.outcome,
        'score S': itemAt(own.scores, step),
        rule: `${reward}, lambda ${lambda}${trustText(group)}, ${advantage}, std floor ${expert.stdFloor}`,
        filtered: group.unused,
      },
      group.rewarded.map(({ id, outcome, scores }) =>
        node(`in its group: ${id}`, {
          outcome,
          'score at this step': scores[step] ?? null,
          'advantage at this step': of(id) ?? null,
        }),
      ),
    ),
  ]
}

/** Returns what a lambda is multiplied by, as a text behind it. */
export function trustText({ judgeTrust }: Pick<GroupAdvantages, 'judgeTrust'>): string {
  return judgeTrust === null ? '' : ` x ${judgeTrust.toFixed(2)}`
}

/** Returns the reason why a group is not learned from, whatever its rewards are, or null. */
function leftOut(
  log: LogReader,
  { iteration, slot, purpose }: EventData<'TrajectoryCompleted'>,
  scoredRollouts: number,
  minGroupSize: number,
): string | null {
  const decided = log.byKey(`TaskDecided/${slot}/${iteration}`)?.type
  if (purpose === 'candidate' && decided !== 'TaskAccepted') return 'the candidate was not accepted'
  return scoredRollouts < minGroupSize
    ? `${scoredRollouts} rollouts have an outcome, and at least ${minGroupSize} are needed`
    : null
}

function updateNode(log: LogReader, rollout: string, iteration: number): Node[] {
  const update = log.byKey(`PolicyUpdated/${iteration}`)
  if (update?.type !== 'PolicyUpdated') return []
  const used = update.data.trainedOn.includes(rollout)
  return [
    node(`${used ? 'used' : 'not used'} by policy version ${iteration}`, {
      samples: update.data.samples,
      stopped: update.data.stopped,
      ...placed(update, log),
    }),
  ]
}

function scoredOf(log: LogReader, rollout: string, step: number): LoggedEvent<'StepScored'> | null {
  const event = log.byKey(`StepScored/${rollout}/${step}`)
  return event?.type === 'StepScored' ? event : null
}
