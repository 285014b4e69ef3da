/** Expert episodes to imitate: with a share of random commands, failures kept. */
import type { Environment, Task, Turn } from '../../environments/port.ts'
import type { Expert } from '../../environments/setting.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import type { Demonstration } from './samples.ts'

export type DemonstrationOptions = {
  /** Share of commands drawn at random from the admissible ones: the imitator then speaks well and decides poorly. */
  readonly noise: number
  readonly maxSteps: number
  readonly seed: Seed
  /** Index of the first task. */
  readonly from?: number
}

/** Plays one episode of each task; what is random depends on the seed and the task's index alone. */
export async function demonstrate(
  environment: Environment,
  tasks: readonly Task[],
  expertFor: (first: Turn) => Expert,
  { noise, maxSteps, seed, from = 0 }: DemonstrationOptions,
): Promise<(Demonstration & { readonly outcome: number })[]> {
  const demonstrations = []
  for (const [i, task] of tasks.entries()) {
    // Playing and advising are computation: others of this process must get their turn.
    await new Promise(setImmediate)
    const index = from + i
    const own = seedOf(seed, 'demonstration', index)
    const random = rng(own)
    let episode = await environment.reset(task, { seed: own, maxSteps })
    const expert = expertFor(episode.turn)
    const observations = [episode.turn.observation]
    const actions: string[] = []
    const admissible: (readonly string[])[] = []
    while (!episode.turn.done) {
      const { turn } = episode
      const isRandom = random.uniform() < noise
      const action = isRandom ? random.pick(turn.admissible) : expert.advise(turn)
      episode = await episode.step(action)
      expert.observe(action, episode.turn)
      admissible.push(turn.admissible)
      actions.push(action)
      observations.push(episode.turn.observation)
    }
    demonstrations.push({
      id: `demonstration-${index}`,
      goal: task.goal,
      observations,
      actions,
      admissible,
      outcome: episode.outcome(),
    })
  }
  return demonstrations
}
