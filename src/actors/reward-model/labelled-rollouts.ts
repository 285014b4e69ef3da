/**
 * Rollouts of the policy's first version with true progress, on which the reward model is started. If a setting tells
 * no progress, every step has the outcome of its rollout for a label.
 */

import type { Config } from '../../config.ts'
import { causesOf } from '../../environments/causes.ts'
import { openSetting } from '../../environments/open.ts'
import type { Task } from '../../environments/port.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { EventData } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { itemAt } from '../../item-at.ts'
import { rng, seedOf } from '../../random.ts'
import { isSettingFault } from '../../user-code.ts'
import { actOver } from '../rollout/act-service.ts'
import { createPlayer } from '../rollout/player.ts'
import type { TellFault } from '../runtime/tell-fault.ts'
import { type LabelledEpisode, labelled, type TaughtOptions } from './cold-start.ts'
import { progressOf } from './measured.ts'

/** Seed that is far from any seed of a person, and from that of the demonstrations. */
const ROLLOUT_SEED = 1_000_000_123

/** Episodes side by side: a tick of more would keep this process from its heartbeats. */
const LIVE = 128

type Labelling = Pick<TaughtOptions, 'flippedLabels' | 'seed'>

export type LabelledRollouts = {
  readonly episodes: LabelledEpisode[]
  /** Rollouts that had no outcome or no words: their task failed. */
  readonly failed: number
}

export type Hearing = {
  /** Hears of each rollout that has ended. */
  readonly report?: (message: string) => void
  /** Hears of rollouts that fail by a fault of the environment. */
  readonly tell?: TellFault
}

/**
 * Returns what of a config the rollouts follow from, beside the policy's weights. It is a part of the key of a kept start.
 * @example rolloutIdentity(config) // { name: 'nim', source: 'generated', ..., temperature: 1, topP: 1 }
 */
export function rolloutIdentity({ environment, policy }: Config): object {
  const { name, source, data, difficulty, seed } = environment
  const { acting, temperature, topP } = policy
  return { name, source, data, difficulty, seed, acting, temperature, topP }
}

/**
 * Plays the rollouts against the run's policy workers. If tasks are generated, it uses tasks that the run does not
 * train on.
 */
export async function labelledRollouts(
  config: Config,
  opened: OpenSetting,
  log: LogClient,
  taught: Labelling,
  { report = () => {}, tell = async () => {} }: Hearing = {},
): Promise<LabelledRollouts> {
  const { rollouts } = config.rewardModel.coldStart
  const { maxSteps } = config.environment
  const stepMs = config.run.deadlines.stepSeconds * 1000
  const playing: Playing = { log, taught, maxSteps, stepMs, report, tell }
  if (config.environment.source === 'data') {
    const all = rng(taught.seed).shuffle(await opened.environment.tasks('train'))
    const tasks = Array.from({ length: rollouts }, (_, index) => itemAt(all, index % all.length))
    return playTasks(opened, tasks, playing)
  }
  const source = await openSetting({
    ...config,
    environment: { ...config.environment, seed: config.environment.seed + ROLLOUT_SEED, tasks: rollouts },
  })
  try {
    return await playTasks(source, await source.environment.tasks('train'), playing)
  } finally {
    // Else its browser or sandboxes would stay for the whole run.
    await source.environment.close?.()
  }
}

type Playing = Required<Hearing> & {
  readonly log: LogClient
  readonly taught: Labelling
  readonly maxSteps: number
  /** Time that one step of an episode may take. */
  readonly stepMs: number
}

async function playTasks(
  source: OpenSetting,
  tasks: readonly Task[],
  { log, taught, maxSteps, stepMs, report, tell }: Playing,
): Promise<LabelledRollouts> {
  const causes = causesOf(source.setting)
  const player = createPlayer({
    environment: source.environment,
    act: actOver(log, stepMs),
    actDeadlineMs: stepMs,
  })
  /** Returns null if the task could not be played to an outcome. Other tasks tell as much. */
  const played = async (task: Task, index: number): Promise<LabelledEpisode | null> => {
    const own = seedOf(taught.seed, 'labelled', index)
    const id = `0/cold-start-${index}/0`
    const request: EventData<'RolloutRequested'> = {
      rollout: id,
      iteration: 0,
      purpose: 'train',
      split: 'train',
      slot: `cold-start-${index}`,
      task: task.id,
      index: 0,
      policyVersion: 0,
      seed: own,
      maxSteps,
    }
    try {
      const trajectory = await player.play(request, task)
      const progress = source.setting.progress
        ? await progressOf(source, task, own, trajectory.actions)
        : trajectory.actions.map(() => (trajectory.outcome.kind === 'scored' ? trajectory.outcome.value : 0))
      const byOutcome = !source.setting.progress
      const episode = progress && { ...trajectory, id, goal: task.goal, seed: own, progress, byOutcome }
      return episode && labelled(causes, task.id, episode, taught)
    } catch (error) {
      if (!isOfTask(error)) throw error
      failures.push(error)
      await tell(error)
      return null
    }
  }
  const episodes: LabelledEpisode[] = []
  const failures: RlError[] = []
  let ended = 0
  const told = async (task: Task, index: number) => {
    const episode = await played(task, index)
    report(`cold start: rollout ${++ended} of ${tasks.length} played and labelled`)
    return episode
  }
  for (let from = 0; from < tasks.length; from += LIVE) {
    const some = tasks.slice(from, from + LIVE).map((task, i) => told(task, from + i))
    episodes.push(...(await Promise.all(some)).filter((episode) => episode !== null))
  }
  if (episodes.length === 0 && failures.length > 0) throw failures[0]
  return { episodes, failed: failures.length }
}

/** Returns true for a fault of the environment, which other tasks need not have. */
function isOfTask(error: unknown): error is RlError {
  return (error instanceof RlError && error.code === 'rollout.env') || isSettingFault(error)
}
