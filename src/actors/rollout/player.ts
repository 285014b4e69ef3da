/**
 * Plays many episodes at once. Every tick gathers the episodes that wait for an action, asks the policy once, and steps
 * them. Episodes join and leave at any tick. The course of an episode depends on its own seed alone.
 */

import { within } from '../../clock.ts'
import type { Environment, Episode, Task } from '../../environments/port.ts'
import { RlError } from '../../errors.ts'
import type { EventData } from '../../events/catalogue.ts'
import { itemAt } from '../../item-at.ts'
import type { ImageRef } from '../../models/port.ts'
import { seedOf } from '../../random.ts'
import { brief } from '../../user-code.ts'
import type { Act, ActReply } from './act.ts'
import { cacheRoom } from './cache-room.ts'
import {
  actionFor,
  cutShort,
  fault,
  type LiveRollout,
  type OpenEpisode,
  openRollout,
  type Played,
  played,
  record,
  recordStep,
  toRequest,
} from './live-rollout.ts'
import type { Tracing } from './tracing.ts'

type Request = EventData<'RolloutRequested'>
type Trajectory = EventData<'TrajectoryCompleted'>

export type Player = {
  /**
   * Plays one rollout to its end, from a new start or from an open episode. Rejects with code `rollout.env` or
   * `rollout.infra`. Such a fault is never an outcome.
   */
  readonly play: (request: Request, task: Task, from?: OpenEpisode) => Promise<Trajectory>
  /** Plays as `play` does, on a trace if there is one, and also returns the episode itself. */
  readonly playOut: (request: Request, task: Task, from?: OpenEpisode, tracing?: Tracing) => Promise<Played>
  /** Ends all that is being played. */
  readonly stop: () => void
}

export type PlayerOptions = {
  readonly environment: Environment
  readonly act: Act
  /** Time that one tick's answer of the policy may take, and that one step of an environment may take. */
  readonly actDeadlineMs: number
  /** Keeps what an episode shows, at its start and after each step. Absent if nobody looks. */
  readonly look?: (episode: Episode) => Promise<ImageRef>
  /** Keeps a file that an observation names. Absent if nobody does. */
  readonly keep?: (file: Uint8Array) => Promise<unknown>
  /** Players that ask the same policy. */
  readonly askers?: number
}

export function createPlayer({ environment, act, actDeadlineMs, look, keep, askers }: PlayerOptions): Player {
  const live = new Set<LiveRollout>()
  const room = cacheRoom(askers)
  const stopped = new AbortController()
  let ticking = false

  /** Nobody goes on with the episode. An environment that cannot take it back has said so elsewhere. */
  function release(episode: Episode): void {
    environment.release?.(episode).catch(() => {})
  }

  async function start(request: Request, task: Task): Promise<OpenEpisode> {
    let begun: Episode | null = null
    try {
      const episode = await environment.reset(task, {
        seed: seedOf(request.seed, 'reset'),
        maxSteps: request.maxSteps,
      })
      begun = episode
      return {
        episode,
        observations: [episode.turn.observation],
        actions: [],
        frames: await framesOf(episode),
      }
    } catch (cause) {
      if (begun) release(begun)
      throw fault('env', `task '${task.id}' cannot be started`, cause)
    }
  }

  async function playOut(
    request: Request,
    task: Task,
    from?: OpenEpisode,
    tracing?: Tracing,
  ): Promise<Played> {
    const startedMs = performance.now()
    const open = from ?? (await start(request, task))
    return new Promise((finish, fail) => {
      live.add(openRollout({ request, task, tracing, startedMs, finish, fail }, open))
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

  async function tick(batch: readonly LiveRollout[]): Promise<void> {
    const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(actDeadlineMs)])
    let replies: readonly ActReply[]
    try {
      replies = await act(batch.map(toRequest), signal)
    } catch (cause) {
      for (const one of batch) end(one, () => one.fail(fault('infra', 'the policy did not answer', cause)))
      return
    }
    for (const [i, one] of batch.entries())
      advance(one, itemAt(replies, i)).catch((cause) =>
        end(one, () => one.fail(fault('infra', 'the answer of the policy cannot be taken', cause))),
      )
  }

  async function advance(one: LiveRollout, reply: ActReply): Promise<void> {
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
    const startedStep = performance.now()
    let action = reply.action
    try {
      action = actionFor(one, reply.action)
      const next = one.episode.step(action)
      one.episode = look || next instanceof Promise ? await apart(one, next) : next
    } catch (cause) {
      end(one, () => one.fail(fault('env', `task '${one.task.id}' failed at '${brief(action)}'`, cause)))
      return
    }
    recordStep(one, action, performance.now() - startedStep)
    const { done, ended } = one.episode.turn
    if (!done && one.tracing?.isLost() === true) {
      end(one, () => one.finish(played(one, 'gave-up')))
      return
    }
    if (!done) return
    // Out of the tick: a program that is still running must not hold up the others.
    live.delete(one)
    try {
      one.episode = (await environment.settle?.(one.episode)) ?? one.episode
      one.finish(played(one, one.episode.turn.ended ?? ended ?? 'step-limit'))
    } catch (cause) {
      one.fail(fault('infra', `the outcome of task '${one.task.id}' could not be found`, cause))
    } finally {
      release(one.episode)
    }
  }

  /** Waits for a slow step outside the tick, so that it holds up no other episode. Then the episode joins again. */
  async function apart(one: LiveRollout, step: Episode | Promise<Episode>): Promise<Episode> {
    live.delete(one)
    const next = await within(step, actDeadlineMs, () => {
      Promise.resolve(step).then(release, () => {})
      return new Error(`no answer within ${actDeadlineMs / 1000} s`)
    })
    one.frames.push(...(await framesOf(next)))
    live.add(one)
    void run()
    return next
  }

  /** Keeps what an episode shows, however long that takes. A full disk is no fault of the task. */
  async function framesOf(episode: Episode): Promise<readonly ImageRef[]> {
    try {
      if (keep) for (const file of episode.turn.files ?? []) await keep(file)
      return look ? [await look(episode)] : []
    } catch (cause) {
      throw fault('infra', 'what it shows could not be kept', cause)
    }
  }

  function end(one: LiveRollout, settle: () => void): void {
    live.delete(one)
    settle()
    release(one.episode)
  }

  return {
    play: async (request, task, from) => (await playOut(request, task, from)).trajectory,
    playOut,
    stop: () => stopped.abort(new RlError('the player was stopped', { code: 'rollout.infra' })),
  }
}
