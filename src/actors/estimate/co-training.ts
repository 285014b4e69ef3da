/** An iteration's rollouts of the policy as lessons: as the judge has read them, with what the setting says of them. */
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import type { EventData } from '../../events/catalogue.ts'
import { readInt32 } from '../../events/columns.ts'
import type { TrainingSample } from '../../models/port.ts'
import type { LearnableGroup } from '../decider/jobs.ts'
import type { TaskBook } from '../rollout/log-queries.ts'
import type { EstimateCodec } from './form.ts'
import { lessonOf, type OwnBins } from './lessons.ts'

type Trajectory = EventData<'TrajectoryCompleted'>
type Scored = EventData<'StepScored'>

export type Read = {
  readonly groups: readonly LearnableGroup[]
  readonly trajectories: readonly Trajectory[]
  readonly scored: readonly Scored[]
}

/** Returns one sample for each rollout of which the setting tells what remains, in order of the groups. */
export async function lessonsFrom(
  { groups, trajectories, scored }: Read,
  codec: EstimateCodec,
  contextTokens: number,
  { tasks, opened }: { readonly tasks: TaskBook; readonly opened: OpenSetting },
): Promise<TrainingSample[]> {
  const { setting, environment } = opened
  const remainingOf = partOf(setting, 'remaining', 'rewardModel.form estimate')
  const byId = new Map(trajectories.map((trajectory) => [trajectory.rollout, trajectory]))
  const bins = ownBins(scored, codec)
  const samples: TrainingSample[] = []
  for (const { task: id, rollouts } of groups) {
    const task = await tasks.find(id)
    for (const rollout of rollouts) {
      const trajectory = byId.get(rollout)
      if (!trajectory) continue
      const { observations, actions, seed } = trajectory
      const remaining = await remainingOf.call(setting, environment, task, seed, actions)
      if (!remaining) continue
      const episode = { id: rollout, goal: task.goal, observations, actions, seed, remaining }
      const sample = lessonOf(codec, episode, contextTokens, bins.get(rollout))
      if (sample) samples.push(sample)
    }
  }
  return samples
}

/** Returns the bins that the first chain of each rollout wrote, by rollout, [steps]. */
function ownBins(scored: readonly Scored[], { bins }: EstimateCodec): ReadonlyMap<string, OwnBins> {
  const byRollout = new Map<string, (number | null)[]>()
  for (const { rollout, step, judgements } of scored) {
    const [first] = judgements
    const token = first && first.tokensI32.byteLength > 0 ? readInt32(first.tokensI32)[0] : undefined
    const row = byRollout.get(rollout) ?? []
    const bin = token === undefined ? -1 : bins.indexOf(token)
    row[step] = bin < 0 ? null : bin
    byRollout.set(rollout, row)
  }
  return byRollout
}
