/**
 * Rollouts to learn an estimate from, without a policy: those of an expert that often errs, and those of an expert that seeks another
 * goal. Experts alone mislead a judge: what they take is what the goal needs.
 */
import type { Task } from '../../environments/port.ts'
import { type Expert, type OpenSetting, partOf } from '../../environments/setting.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import type { EstimatedEpisode } from './lessons.ts'

/** Share of random commands: from, and by how much more at most. */
const NOISE = { noisy: [0.5, 0.5], astray: [0.2, 0.6] } as const

export type TeachersOptions = { readonly maxSteps: number; readonly seed: Seed }

/** Plays one task and labels its steps. Returns null if the setting cannot tell what remains. */
export async function taughtEpisode(
  opened: OpenSetting,
  task: Task,
  index: number,
  { maxSteps, seed }: TeachersOptions,
): Promise<EstimatedEpisode | null> {
  const { setting, environment } = opened
  const expertOf = partOf(setting, 'expert', 'rewardModel.form estimate')
  const remainingOf = partOf(setting, 'remaining', 'rewardModel.form estimate')
  const own = seedOf(seed, 'teacher', index)
  const random = rng(own)
  const isAstray = setting.astray !== undefined && index % 2 === 1
  const [least, more] = NOISE[isAstray ? 'astray' : 'noisy']
  const noise = least + more * random.uniform()
  let episode = await environment.reset(task, { seed: own, maxSteps })
  const expert: Expert = isAstray
    ? setting.astray!(environment, episode.turn, own, task)
    : expertOf.call(setting, environment, episode.turn, task)
  const observations = [episode.turn.observation]
  const actions: string[] = []
  while (!episode.turn.done) {
    const { turn } = episode
    const action = random.uniform() < noise ? random.pick(turn.admissible) : expert.advise(turn)
    episode = await episode.step(action)
    expert.observe(action, episode.turn)
    actions.push(action)
    observations.push(episode.turn.observation)
  }
  const remaining = await remainingOf.call(setting, environment, task, own, actions)
  return remaining && { id: `teacher-${index}`, goal: task.goal, observations, actions, seed: own, remaining }
}
