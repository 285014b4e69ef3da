/** A rollout that is being played: what it has come to so far, and the trajectory that it becomes. */
import type { Episode, Task } from '../../environments/port.ts'
import { RlError } from '../../errors.ts'
import type { EventData } from '../../events/catalogue.ts'
import { float32Column } from '../../events/columns.ts'
import type { ImageRef } from '../../models/port.ts'
import { seedOf } from '../../random.ts'
import { isSettingFault } from '../../user-code.ts'
import type { ActReply, ActRequest } from './act.ts'
import { type SegmentBuilder, segmentBuilder } from './segments.ts'
import type { Tracing } from './tracing.ts'
import { addUsage, placeOf } from './trajectory-parts.ts'

type Request = EventData<'RolloutRequested'>
type Trajectory = EventData<'TrajectoryCompleted'>

export type Played = {
  readonly trajectory: Trajectory
  /** The ended episode, with its outcome. */
  readonly episode: Episode
  /** [steps + 1] if pictures are taken, else empty. */
  readonly frames: readonly ImageRef[]
}

/** An open episode, with its observations [actions + 1] and its actions. */
export type OpenEpisode = {
  readonly episode: Episode
  readonly observations: readonly string[]
  readonly actions: readonly string[]
  /** [actions + 1] if pictures are taken. */
  readonly frames?: readonly ImageRef[]
}

export type LiveRollout = {
  readonly request: Request
  readonly task: Task
  episode: Episode
  readonly observations: string[]
  readonly actions: string[]
  readonly frames: ImageRef[]
  readonly segments: SegmentBuilder
  readonly invalid: Record<string, number>
  /** Reasoning of each step, by step. */
  readonly reasoning: Map<number, string>
  /** Steps whose answer no rule could read, or that neither did nor answered anything. */
  readonly invalidSteps: Set<number>
  /** [steps] whether a call failed. Undefined for a step of which the environment cannot tell. */
  readonly failed: (boolean | undefined)[]
  /** [steps] milliseconds that the environment took. */
  readonly stepMs: number[]
  /** Mean entropy, and log-prob under version 0, by step. */
  readonly entropies: Map<number, number>
  readonly baseLogprobs: Map<number, number>
  /** Who acted, by step. */
  readonly roles: Map<number, string>
  readonly usage: { promptTokens: number; cachedTokens: number; completionTokens: number }
  trainable: boolean
  promptSha256: string | undefined
  /** Undefined if the rollout follows no trace. */
  readonly tracing?: Tracing | undefined
  readonly startedMs: number
  readonly finish: (played: Played) => void
  readonly fail: (error: RlError) => void
}

type Asked = Pick<LiveRollout, 'request' | 'task' | 'tracing' | 'startedMs' | 'finish' | 'fail'>

export function openRollout(
  asked: Asked,
  { episode, observations, actions, frames = [] }: OpenEpisode,
): LiveRollout {
  return {
    ...asked,
    episode,
    observations: [...observations],
    actions: [...actions],
    frames: [...frames],
    segments: segmentBuilder(),
    invalid: {},
    reasoning: new Map(),
    invalidSteps: new Set(),
    failed: actions.map(() => undefined),
    stepMs: [],
    entropies: new Map(),
    baseLogprobs: new Map(),
    roles: new Map(),
    usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
    trainable: true,
    promptSha256: undefined,
  }
}

/**
 * Ends an episode because the model's context is full. Not every setting knows an outcome before the end. Then there
 * is no outcome, and nothing is guessed.
 */
export function cutShort(one: LiveRollout): void {
  try {
    one.finish(played(one, 'context'))
  } catch (cause) {
    const what = `the model's context was full before task '${one.task.id}' was over, which has no outcome then`
    // This is not told as a fault: an outcome need not be known before the end.
    const { message, code } = fault('env', '', cause)
    one.fail(new RlError(`${what}: ${message}`, { code }))
  }
}

export function toRequest(one: LiveRollout): ActRequest {
  const { request, task, episode, observations, actions, segments, frames } = one
  return {
    rollout: request.rollout,
    task: task.id,
    kind: task.kind,
    goal: task.goal,
    observations,
    actions,
    ...(frames.length > 0 ? { frames } : {}),
    admissible: episode.turn.admissible,
    ...(episode.tools ? { tools: episode.tools } : {}),
    packedTokens: segments.length(),
    policyVersion: request.policyVersion,
    seed: seedOf(request.seed, 'act', actions.length),
    evaluation: request.purpose === 'evaluation',
    ...(request.hint === undefined ? {} : { hint: request.hint }),
  }
}

export function record(one: LiveRollout, reply: ActReply): void {
  if (reply.tokens) one.segments.add(one.actions.length, reply.tokens, reply.continues)
  else one.trainable = false
  if (reply.invalid !== null) {
    one.invalid[reply.invalid] = (one.invalid[reply.invalid] ?? 0) + 1
    one.invalidSteps.add(one.actions.length)
  }
  if (reply.reasoning !== undefined) one.reasoning.set(one.actions.length, reply.reasoning)
  if (reply.entropy !== undefined) one.entropies.set(one.actions.length, reply.entropy)
  if (reply.baseLogprob !== undefined) one.baseLogprobs.set(one.actions.length, reply.baseLogprob)
  const { role } = one.episode.turn
  if (role !== undefined) one.roles.set(one.actions.length, role)
  one.promptSha256 = reply.promptSha256
  addUsage(one.usage, reply.usage)
}

/**
 * Returns the action to take for a choice of the policy. If the recorded action takes its place, the tokens of the choice end a
 * segment, for what follows reads the recorded action.
 *
 * @throws RlError `rollout.env` if the recorded action cannot be taken here
 */
export function actionFor(one: LiveRollout, chosen: string): string {
  if (!one.tracing) return chosen
  const step = one.actions.length
  const action = one.tracing.follow(step, chosen)
  const { admissible } = one.episode.turn
  if (admissible.length > 0 && !admissible.includes(action))
    throw fault(
      'env',
      '',
      new RlError(`its trace takes '${action}' at step ${step}, which is not admissible`, {
        code: 'rollout.env',
      }),
    )
  if (one.tracing.leftAt(step)) one.segments.end()
  return action
}

/** Enters what a step came to. The episode is the one after it. */
export function recordStep(one: LiveRollout, action: string, stepMs: number): void {
  const { turn } = one.episode
  if (turn.void === true) one.invalidSteps.add(one.actions.length)
  one.failed.push(turn.failed)
  one.stepMs.push(Math.round(stepMs * 10) / 10)
  one.actions.push(action)
  one.observations.push(turn.observation)
}

export const played = (one: LiveRollout, ended: Trajectory['ended']): Played => ({
  trajectory: trajectory(one, ended),
  episode: one.episode,
  frames: one.frames,
})

function trajectory(one: LiveRollout, ended: Trajectory['ended']): Trajectory {
  const { request, episode } = one
  const value = one.tracing?.value(one.actions.length) ?? episode.outcome()
  return {
    ...placeOf(request),
    outcome: {
      ...{ kind: 'scored', value, success: value === 1 },
      ...(episode.turn.unsure === true ? { unsure: true } : {}),
    },
    ended,
    steps: one.actions.length,
    observations: one.observations,
    actions: one.actions,
    invalid: one.invalid,
    trainable: one.trainable,
    segments: one.trainable ? one.segments.build() : [],
    ...(one.promptSha256 === undefined ? {} : { promptSha256: one.promptSha256 }),
    // Else it is among the tokens.
    ...(one.trainable || one.reasoning.size === 0
      ? {}
      : { reasoning: one.actions.map((_, step) => one.reasoning.get(step) ?? '') }),
    ...(one.tracing ? { trace: one.tracing.told() } : {}),
    ...marksOf(one),
    ...figuresOf(one),
    usage: one.usage,
    timing: {
      durationMs: Math.round(performance.now() - one.startedMs),
      // Steps before the place from which the rollout went on were not timed.
      ...(one.stepMs.length === one.actions.length ? { stepMs: one.stepMs } : {}),
    },
  }
}

/** Returns the marks of steps. A column that would say nothing is left out. */
function marksOf({ actions, invalidSteps, failed }: LiveRollout): Pick<Trajectory, 'invalidU8' | 'errorsU8'> {
  return {
    ...(invalidSteps.size === 0
      ? {}
      : { invalidU8: Uint8Array.from(actions, (_, step) => (invalidSteps.has(step) ? 1 : 0)) }),
    ...(failed.every((one) => one === undefined)
      ? {}
      : { errorsU8: Uint8Array.from(failed, (one) => (one === true ? 1 : 0)) }),
  }
}

/** Returns the columns that are there if every step has a value. */
function figuresOf({
  actions,
  entropies,
  baseLogprobs,
  roles,
}: LiveRollout): Pick<Trajectory, 'entropiesF32' | 'baseLogprobsF32' | 'roles'> {
  const each = <V>(values: ReadonlyMap<number, V>): V[] | null => {
    const row = actions.flatMap((_, step) => values.get(step) ?? [])
    return row.length === actions.length && row.length > 0 ? row : null
  }
  const [entropy, base, role] = [each(entropies), each(baseLogprobs), each(roles)]
  return {
    ...(entropy ? { entropiesF32: float32Column(entropy) } : {}),
    ...(base ? { baseLogprobsF32: float32Column(base) } : {}),
    ...(role ? { roles: role } : {}),
  }
}

/**
 * Returns the error of a fault. An environment names a fault of the infrastructure by its code. A fault of a user's
 * code belongs to the task, and names it.
 */
export function fault(blamed: 'env' | 'infra', message: string, error: unknown): RlError {
  const ofUser = isSettingFault(error)
  const cause = error instanceof RlError && error.code === 'rollout.infra' ? 'infra' : ofUser ? 'env' : blamed
  const reason = error instanceof Error ? error.message : String(error)
  const said = ofUser || message === '' ? reason : `${message}: ${reason}`
  return new RlError(said, { code: `rollout.${cause}`, cause: error })
}
