/** Expert episodes to imitate: with a share of random commands, failures kept. */
import type { Environment, Task, Turn } from '../../environments/port.ts'
import type { Expert } from '../../environments/setting.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import type { DemonstrationFaults } from './demonstration-faults.ts'
import type { Demonstration } from './samples.ts'

export type DemonstrationOptions = {
  /** Share of commands drawn at random from the admissible ones: the imitator then speaks well and decides poorly. */
  readonly noise: number
  readonly maxSteps: number
  readonly seed: Seed
  /** Index of the first task. */
  readonly from?: number
  /** Takes faults of tasks, which are then left out. Without it a fault ends everything. */
  readonly faults?: DemonstrationFaults
}

type Demonstrated = Demonstration & { readonly outcome: number }

/** Plays one episode of each task. Random draws depend only on the seed and the task's index. */
export async function demonstrate(
  environment: Environment,
  tasks: readonly Task[],
  expertFor: (first: Turn, task: Task) => Expert,
  options: DemonstrationOptions,
): Promise<Demonstrated[]> {
  const { from = 0, faults } = options
  const demonstrations: Demonstrated[] = []
  for (const [i, task] of tasks.entries()) {
    // Playing and advising are computation: others of this process must get their turn.
    await new Promise(setImmediate)
    if (faults?.isHung(task)) continue
    try {
      demonstrations.push(await demonstrateOne(environment, task, expertFor, from + i, options))
      faults?.played()
    } catch (error) {
      if (!faults) throw error
      await faults.failed(task, error)
    }
  }
  return demonstrations
}

async function demonstrateOne(
  environment: Environment,
  task: Task,
  expertFor: (first: Turn, task: Task) => Expert,
  index: number,
  { noise, maxSteps, seed }: DemonstrationOptions,
): Promise<Demonstrated> {
  const own = seedOf(seed, 'demonstration', index)
  const random = rng(own)
  let episode = await environment.reset(task, { seed: own, maxSteps })
  const expert = expertFor(episode.turn, task)
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
  return {
    id: `demonstration-${index}`,
    goal: task.goal,
    observations,
    actions,
    admissible,
    outcome: episode.outcome(),
  }
}
