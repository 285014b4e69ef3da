/** A trajectory and its verdicts as rules see them, and the reward that follows. */
import type { LearningConfig } from '../../config-schema/sections.ts'
import { hadNoEffect } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { EventData } from '../../events/catalogue.ts'
import { readFloat32, readInt32 } from '../../events/columns.ts'
import { overlongPenalty } from '../../learning/overlong.ts'
import { outcomeOf } from '../../learning/reward.ts'
import {
  type Need,
  needsOf,
  type PlayedRollout,
  type RolloutField,
  type StepRewardRule,
} from '../../learning/rules.ts'
import type { RewardedRollout, ScoreKind } from '../../learning/terms.ts'

type Trajectory = EventData<'TrajectoryCompleted'>

/** Parts of a trajectory that enter its reward. Those that may be absent are read only if a rule needs them. */
export type Outcome = Pick<Trajectory, 'rollout' | 'outcome' | 'steps' | 'actions' | 'usage' | 'ended'> &
  Partial<
    Pick<
      Trajectory,
      | 'observations'
      | 'segments'
      | 'invalid'
      | 'invalidU8'
      | 'errorsU8'
      | 'timing'
      | 'entropiesF32'
      | 'baseLogprobsF32'
      | 'roles'
      | 'reference'
      | 'trace'
    >
  >

/** Parts of a judged step that enter its reward. */
export type JudgedStep = Pick<
  EventData<'StepScored'>,
  'rollout' | 'step' | 'probability' | 'progress' | 'fall' | 'estimate'
> & {
  /** `criterion` is what the vote is about, and null if it is about the step as a whole. */
  readonly judgements: readonly { readonly score: -1 | 0 | 1; readonly criterion?: string }[]
}

/** Returns the judged steps of each rollout, [steps]. A step that nobody judged is missing. */
export function byStep(scored: readonly JudgedStep[]): Map<string, JudgedStep[]> {
  const byRollout = new Map<string, JudgedStep[]>()
  for (const one of scored) {
    const row = byRollout.get(one.rollout) ?? []
    row[one.step] = one
    byRollout.set(one.rollout, row)
  }
  return byRollout
}

/** Returns a rollout with the fields that `needs` names, or null if it has no outcome. */
export function playedRollout(
  trajectory: Outcome | undefined,
  task: string,
  judged: readonly (JudgedStep | undefined)[],
  needs: ReadonlySet<Need>,
): PlayedRollout | null {
  if (trajectory?.outcome.kind !== 'scored') return null
  const { rollout, outcome, steps, actions, usage, ended, observations, segments } = trajectory
  const each = Array.from({ length: steps }, (_, step) => judged[step])
  return {
    id: rollout,
    task,
    value: outcome.value,
    ended,
    completionTokens: usage.completionTokens,
    actions,
    judgements: each.map((one) =>
      one ? { scores: one.judgements.map(({ score }) => score), probability: one.probability } : null,
    ),
    progress: each.map((one) => one?.progress ?? null),
    observations: needs.has('observations') ? (observations ?? null) : null,
    logprobs: needs.has('logprobs') ? logprobsOf(segments ?? [], steps) : null,
    ...marksOf(trajectory, needs),
    ...figuresOf(trajectory, needs),
    criteria: needs.has('criteria') ? criteriaOf(each) : null,
    falls: needs.has('falls') ? fallsOf(each) : null,
    traced: tracedOf(trajectory),
  }
}

/** Returns whether each step chose the recorded action, [steps]. Returns null without a trace. */
function tracedOf({ steps, trace }: Outcome): readonly (-1 | 0 | 1)[] | null {
  if (!trace) return null
  const left = new Set(trace.left.map(({ step }) => step))
  return Array.from({ length: steps }, (_, step) => (step >= trace.steps ? 0 : left.has(step) ? -1 : 1))
}

/** Returns the figures of steps that a rule needs. A figure is null if the log lacks it. */
function figuresOf(
  { entropiesF32, baseLogprobsF32, roles, reference }: Outcome,
  needs: ReadonlySet<Need>,
): Pick<PlayedRollout, 'entropies' | 'baseLogprobs' | 'roles' | 'reference'> {
  const floats = (need: Need, column: Uint8Array | undefined) =>
    needs.has(need) && column ? Array.from(readFloat32(column)) : null
  return {
    entropies: floats('entropies', entropiesF32),
    baseLogprobs: floats('baseLogprobs', baseLogprobsF32),
    roles: needs.has('roles') ? (roles ?? null) : null,
    reference: needs.has('reference') ? (reference ?? null) : null,
  }
}

/**
 * Returns by how much the estimate of the rest fell, [steps]: that of the judge if it estimates, else that of the setting. Returns null
 * if a step does not say it.
 */
function fallsOf(each: readonly (JudgedStep | undefined)[]): readonly number[] | null {
  const isJudged = each.some((one) => one?.estimate !== undefined)
  const falls = each.flatMap((one) => (isJudged ? (one?.estimate?.fall ?? 0) : (one?.fall ?? [])))
  return falls.length === each.length ? falls : null
}

/** Returns what each vote is about, [steps][votes]. Returns null if a vote does not say it. */
function criteriaOf(each: readonly (JudgedStep | undefined)[]): readonly (readonly string[])[] | null {
  const votes = each.flatMap((one) => one?.judgements ?? [])
  if (votes.length === 0 || votes.some(({ criterion }) => criterion === undefined)) return null
  return each.map((one) => (one?.judgements ?? []).flatMap(({ criterion }) => criterion ?? []))
}

type Mark = 0 | 1

/** Returns the marks of steps that a rule needs. A mark is null if the log lacks it. */
function marksOf(
  { steps, observations, invalid, invalidU8, errorsU8, timing }: Outcome,
  needs: ReadonlySet<Need>,
): Pick<PlayedRollout, 'noops' | 'invalid' | 'errors' | 'durationsMs'> {
  const marks = (column: Uint8Array) => Array.from(column, (mark): Mark => (mark === 1 ? 1 : 0))
  const noops = observations?.slice(1).map((seen): Mark => (hadNoEffect(seen) ? 1 : 0)) ?? null
  // Before there was a column, only the counts by reason told of such steps.
  const none = invalid !== undefined && Object.keys(invalid).length === 0
  const readable = none ? Array.from({ length: steps }, (): Mark => 0) : null
  const stepMs = timing?.stepMs
  return {
    noops: needs.has('noops') ? noops : null,
    invalid: needs.has('invalid') ? (invalidU8 ? marks(invalidU8) : readable) : null,
    // If the environment marks no failed calls, an action without effect is one.
    errors: needs.has('errors') ? (errorsU8 ? marks(errorsU8) : noops) : null,
    durationsMs: needs.has('durationsMs') && Array.isArray(stepMs) && stepMs.length === steps ? stepMs : null,
  }
}

/** Returns the sum over the sampled tokens of each step, [steps]. Returns null if a step is in no segment. */
function logprobsOf(segments: Trajectory['segments'], steps: number): number[] | null {
  const sums: number[] = []
  for (const { firstStep, stepStartI32, maskU8, logprobsF32 } of segments) {
    const starts = readInt32(stepStartI32)
    const logprobs = readFloat32(logprobsF32)
    for (const [i, start] of starts.entries()) {
      let sum = 0
      for (let t = start; t < (starts[i + 1] ?? logprobs.length); t++)
        if (maskU8[t] === 1) sum += logprobs[t] ?? 0
      sums[firstStep + i] = sum
    }
  }
  return sums.length === steps && Object.keys(sums).length === steps ? sums : null
}

const FIELDS: readonly RolloutField[] = [
  ...(['observations', 'logprobs', 'noops', 'invalid', 'errors', 'durationsMs'] as const),
  ...(['entropies', 'baseLogprobs', 'roles', 'criteria', 'reference'] as const),
]

/** Returns the first field that a rule of the batch needs and that the rollout lacks, or null. */
export function lackedBy(played: PlayedRollout, needs: ReadonlySet<Need>): Need | null {
  for (const field of FIELDS) if (needs.has(field) && (played[field] ?? null) === null) return field
  return null
}

/**
 * Whether a rollout earns no reward because verdicts are needed and nobody judged it. That is nobody's merit or fault.
 */
export function isUnjudged({ judgements }: PlayedRollout, stepReward: StepRewardRule): boolean {
  if (!needsOf(stepReward).includes('verdicts') || judgements.length === 0) return false
  // A judge that failed for good, or was never asked, leaves neither votes nor a probability.
  return judgements.every((one) => one === null || (one.scores.length === 0 && one.probability === null))
}

/** @throws RlError `rule.result` if the rule does not give a finite number for each step */
export function rewardedRollout(
  played: PlayedRollout,
  score: ScoreKind,
  stepReward: StepRewardRule,
  { maxTokens, ...overlong }: LearningConfig['expert']['overlong'],
): RewardedRollout {
  const { id, task, value, actions, completionTokens } = played
  const parts = stepReward.parts(played, { score })
  if (parts.steps.length !== actions.length || ![parts.outcome, ...parts.steps].every(Number.isFinite))
    throw new RlError(
      `the step reward '${stepReward.name}' gave rollout ${id} of ${actions.length} steps no finite number for each of them`,
      { code: 'rule.result', hint: 'parts returns { outcome, steps }, steps one number a step' },
    )
  const penalty = maxTokens === null ? 0 : overlongPenalty(completionTokens, { maxTokens, ...overlong })
  return { id, task, outcome: outcomeOf(value), graded: parts.outcome + penalty, scores: parts.steps }
}
