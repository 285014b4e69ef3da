/**
 * Rollouts of the policy's first version with true progress, on which the reward model is started. If a setting tells
 * no progress, every step has the outcome of its rollout for a label.
 */
import type { Config } from '../../config.ts'
import { openSetting } from '../../environments/open.ts'
import type { Task } from '../../environments/port.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { EventData } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import { isSettingFault } from '../../user-code.ts'
import { actOver } from '../rollout/act-service.ts'
import { createPlayer } from '../rollout/player.ts'
import type { TellFault } from '../runtime/tell-fault.ts'
import type { LabelledEpisode } from './cold-start.ts'
import { progressOf } from './measured.ts'

/** Seed that is far from any seed of a person, and from that of the demonstrations. */
const ROLLOUT_SEED = 1_000_000_123

/** Episodes side by side: a tick of more would keep this process from its heartbeats. */
const LIVE = 128

export type LabelledRollouts = {
  readonly episodes: LabelledEpisode[]
  /** Rollouts that had no outcome: their task failed. */
  readonly failed: number
}

export type Hearing = {
  /** Hears of each rollout that has ended. */
  readonly report?: (message: string) => void
  /** Hears of rollouts that fail by a fault of the environment. */
  readonly tell?: TellFault
}

/**
 * Plays the rollouts against the run's policy workers. If tasks are generated, it uses tasks that the run does not
 * train on.
 */
export async function labelledRollouts(
  config: Config,
  opened: OpenSetting,
  log: LogClient,
  seed: Seed,
  { report = () => {}, tell = async () => {} }: Hearing = {},
): Promise<LabelledRollouts> {
  const { rollouts } = config.rewardModel.coldStart
  if (config.environment.source === 'data') {
    const all = rng(seed).shuffle(await opened.environment.tasks('train'))
    const tasks = Array.from({ length: rollouts }, (_, index) => all[index % all.length])
    return playTasks(config, opened, tasks, { log, seed, report, tell })
  }
  const source = await openSetting({
    ...config,
    environment: { ...config.environment, seed: config.environment.seed + ROLLOUT_SEED, tasks: rollouts },
  })
  try {
    return await playTasks(config, source, await source.environment.tasks('train'), {
      log,
      seed,
      report,
      tell,
    })
  } finally {
    // Else its browser or sandboxes would stay for the whole run.
    await source.environment.close?.()
  }
}

async function playTasks(
  config: Config,
  source: OpenSetting,
  tasks: readonly Task[],
  { log, seed, report, tell }: { readonly log: LogClient; readonly seed: Seed } & Required<Hearing>,
): Promise<LabelledRollouts> {
  const stepMs = config.run.deadlines.stepSeconds * 1000
  const player = createPlayer({
    environment: source.environment,
    act: actOver(log, stepMs),
    actDeadlineMs: stepMs,
  })
  /** Returns null if the task could not be played to an outcome. Other tasks tell as much. */
  const played = async (task: Task, index: number): Promise<LabelledEpisode | null> => {
    const own = seedOf(seed, 'labelled', index)
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
      maxSteps: config.environment.maxSteps,
    }
    try {
      const trajectory = await player.play(request, task)
      const progress = source.setting.progress
        ? await progressOf(source, task, own, trajectory.actions)
        : trajectory.actions.map(() => (trajectory.outcome.kind === 'scored' ? trajectory.outcome.value : 0))
      return progress && { ...trajectory, id, goal: task.goal, seed: own, progress }
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
