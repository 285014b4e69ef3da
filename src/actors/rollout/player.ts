/**
 * Plays many episodes at once: every tick gathers those that wait for an action, asks the policy once, and steps them.
 * Episodes join and leave at any tick; what an episode becomes depends on its own seed alone.
 */
import { within } from '../../clock.ts'
import type { Environment, Episode, Task } from '../../environments/port.ts'
import { RlError } from '../../errors.ts'
import type { EventData } from '../../events/catalogue.ts'
import type { ImageRef } from '../../models/port.ts'
import { seedOf } from '../../random.ts'
import { brief, isSettingFault } from '../../user-code.ts'
import type { Act, ActReply, ActRequest } from './act.ts'
import { cacheRoom } from './cache-room.ts'
import { type SegmentBuilder, segmentBuilder } from './segments.ts'

type Request = EventData<'RolloutRequested'>
type Trajectory = EventData<'TrajectoryCompleted'>

type Played = {
  readonly trajectory: Trajectory
  /** The ended episode, with its outcome. */
  readonly episode: Episode
  /** [steps + 1] if pictures are taken, else empty. */
  readonly frames: readonly ImageRef[]
}

export type Player = {
  /**
   * Plays one rollout to its end, from a new start or from an open episode. Rejects with code `rollout.env` or
   * `rollout.infra`. Such a fault is never an outcome.
   */
  readonly play: (request: Request, task: Task, from?: OpenEpisode) => Promise<Trajectory>
  /** Plays as `play` does, and also returns the episode itself. */
  readonly playOut: (request: Request, task: Task, from?: OpenEpisode) => Promise<Played>
  /** Ends all that is being played. */
  readonly stop: () => void
}

/** An episode that is not over, with what was seen [actions + 1] and done in it. */
export type OpenEpisode = {
  readonly episode: Episode
  readonly observations: readonly string[]
  readonly actions: readonly string[]
  /** [actions + 1] if pictures are taken. */
  readonly frames?: readonly ImageRef[]
}

type Live = {
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
  readonly usage: { promptTokens: number; cachedTokens: number; completionTokens: number }
  trainable: boolean
  promptSha256: string | undefined
  readonly startedMs: number
  readonly finish: (played: Played) => void
  readonly fail: (error: RlError) => void
}

export type PlayerOptions = {
  readonly environment: Environment
  readonly act: Act
  /** Time that one tick's answer of the policy may take, and that one step of an environment may take. */
  readonly actDeadlineMs: number
  /** Keeps what an episode shows, at its start and after each step. Absent if nobody looks. */
  readonly look?: (episode: Episode) => Promise<ImageRef>
  /** Players that ask the same policy. */
  readonly askers?: number
}

export function createPlayer({ environment, act, actDeadlineMs, look, askers }: PlayerOptions): Player {
  const live = new Set<Live>()
  const room = cacheRoom(askers)
  const stopped = new AbortController()
  let ticking = false

  async function start(request: Request, task: Task): Promise<OpenEpisode> {
    try {
      const episode = await environment.reset(task, {
        seed: seedOf(request.seed, 'reset'),
        maxSteps: request.maxSteps,
      })
      return {
        episode,
        observations: [episode.turn.observation],
        actions: [],
        ...(look ? { frames: await framesOf(episode) } : {}),
      }
    } catch (cause) {
      throw fault('env', `task '${task.id}' cannot be started`, cause)
    }
  }

  async function playOut(request: Request, task: Task, from?: OpenEpisode): Promise<Played> {
    const startedMs = performance.now()
    const { episode, observations, actions, frames = [] } = from ?? (await start(request, task))
    return new Promise((finish, fail) => {
      live.add({
        request,
        task,
        episode,
        observations: [...observations],
        actions: [...actions],
        frames: [...frames],
        segments: segmentBuilder(),
        invalid: {},
        reasoning: new Map(),
        usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
        trainable: true,
        promptSha256: undefined,
        startedMs,
        finish,
        fail,
      })
      void run()
    })
  }

  async function run(): Promise<void> {
    if (ticking) return
    ticking = true
    while (live.size > 0) {
      await new Promise(setImmediate)
      await tick(room.fitting([...live]))
    }
    ticking = false
  }

  async function tick(batch: readonly Live[]): Promise<void> {
    const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(actDeadlineMs)])
    let replies: readonly ActReply[]
    try {
      replies = await act(batch.map(toRequest), signal)
    } catch (cause) {
      for (const one of batch) end(one, () => one.fail(fault('infra', 'the policy did not answer', cause)))
      return
    }
    for (const [i, one] of batch.entries())
      advance(one, replies[i]).catch((cause) =>
        end(one, () => one.fail(fault('infra', 'the answer of the policy cannot be taken', cause))),
      )
  }

  async function advance(one: Live, reply: ActReply): Promise<void> {
    if (reply.fault !== undefined) {
      const { fault: said, ofSetting } = reply
      end(one, () =>
        one.fail(
          ofSetting
            ? fault('env', '', new RlError(String(said), { code: 'setting.broken' }))
            : fault('infra', 'the policy did not answer', said),
        ),
      )
      return
    }
    if (!reply.fits) {
      end(one, () => cutShort(one))
      return
    }
    const before = one.segments.length()
    record(one, reply)
    room.told(reply, Math.max(0, one.segments.length() - before))
    try {
      const next = one.episode.step(reply.action)
      one.episode = look || next instanceof Promise ? await apart(one, next) : next
    } catch (cause) {
      end(one, () =>
        one.fail(fault('env', `task '${one.task.id}' failed at '${brief(reply.action)}'`, cause)),
      )
      return
    }
    one.actions.push(reply.action)
    one.observations.push(one.episode.turn.observation)
    const { done, ended } = one.episode.turn
    if (!done) return
    // Out of the tick: a program that is still running must not hold up the others.
    live.delete(one)
    try {
      one.episode = (await environment.settle?.(one.episode)) ?? one.episode
      one.finish(played(one, one.episode.turn.ended ?? ended ?? 'step-limit'))
    } catch (cause) {
      one.fail(fault('infra', `the outcome of task '${one.task.id}' could not be found`, cause))
    }
  }

  /** The model's context is full. Not every setting knows an outcome before the end: then there is none, and nothing is guessed. */
  function cutShort(one: Live): void {
    try {
      one.finish(played(one, 'context'))
    } catch (cause) {
      const what = `the model's context was full before task '${one.task.id}' was over, which has no outcome then`
      // Not told as a fault: an outcome need not be known before the end.
      const { message, code } = fault('env', '', cause)
      one.fail(new RlError(`${what}: ${message}`, { code }))
    }
  }

  /** A step that takes time is waited for out of the tick, so that it holds up no other episode; then the episode joins again. */
  async function apart(one: Live, step: Episode | Promise<Episode>): Promise<Episode> {
    live.delete(one)
    const next = await within(
      step,
      actDeadlineMs,
      () => new Error(`no answer within ${actDeadlineMs / 1000} s`),
    )
    one.frames.push(...(await framesOf(next)))
    live.add(one)
    void run()
    return next
  }

  /** Keeps what an episode shows, however long that takes. A full disk is no fault of the task. */
  async function framesOf(episode: Episode): Promise<readonly ImageRef[]> {
    if (!look) return []
    try {
      return [await look(episode)]
    } catch (cause) {
      throw fault('infra', 'its screen could not be kept', cause)
    }
  }

  function end(one: Live, settle: () => void): void {
    live.delete(one)
    settle()
  }

  return {
    play: async (request, task, from) => (await playOut(request, task, from)).trajectory,
    playOut,
    stop: () => stopped.abort(new RlError('the player was stopped', { code: 'rollout.infra' })),
  }
}

function toRequest(one: Live): ActRequest {
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
    packedTokens: segments.length(),
    policyVersion: request.policyVersion,
    seed: seedOf(request.seed, 'act', actions.length),
    evaluation: request.purpose === 'evaluation',
  }
}

function record(one: Live, reply: ActReply): void {
  if (reply.tokens) one.segments.add(one.actions.length, reply.tokens, reply.continues)
  else one.trainable = false
  if (reply.invalid !== null) one.invalid[reply.invalid] = (one.invalid[reply.invalid] ?? 0) + 1
  if (reply.reasoning !== undefined) one.reasoning.set(one.actions.length, reply.reasoning)
  one.promptSha256 = reply.promptSha256
  one.usage.promptTokens += reply.usage.promptTokens
  one.usage.cachedTokens += reply.usage.cachedTokens
  one.usage.completionTokens += reply.usage.completionTokens
}

const played = (one: Live, ended: Trajectory['ended']): Played => ({
  trajectory: trajectory(one, ended),
  episode: one.episode,
  frames: one.frames,
})

function trajectory(one: Live, ended: Trajectory['ended']): Trajectory {
  const { request, episode } = one
  const value = episode.outcome()
  return {
    rollout: request.rollout,
    iteration: request.iteration,
    purpose: request.purpose,
    split: request.split,
    slot: request.slot,
    task: request.task,
    index: request.index,
    policyVersion: request.policyVersion,
    seed: request.seed,
    outcome: { kind: 'scored', value, success: value === 1 },
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
    usage: one.usage,
    timing: { durationMs: Math.round(performance.now() - one.startedMs) },
  }
}

/** An environment that knows its fault for one of the infrastructure says so by its code. What a user's code did is one of the task, and names it. */
function fault(blamed: 'env' | 'infra', message: string, error: unknown): RlError {
  const ofUser = isSettingFault(error)
  const cause = error instanceof RlError && error.code === 'rollout.infra' ? 'infra' : ofUser ? 'env' : blamed
  const reason = error instanceof Error ? error.message : String(error)
  const said = ofUser || message === '' ? reason : `${message}: ${reason}`
  return new RlError(said, { code: `rollout.${cause}`, cause: error })
}
