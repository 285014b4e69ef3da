/** A generated household task, and rollouts of it for a player. */
import { alfworldEnvironment } from '../../src/environments/alfworld/environment.ts'
import type { EventData } from '../../src/events/catalogue.ts'

export const household = alfworldEnvironment({
  source: { kind: 'generated', seed: 9, counts: { train: 2, 'in-domain': 0, ood: 0 }, size: 'easy' },
})
export const [task] = await household.tasks('train')

export const requestFor = (index: number, maxSteps: number): EventData<'RolloutRequested'> => ({
  rollout: `1/train-00000/${index}`,
  iteration: 1,
  purpose: 'train',
  split: 'train',
  slot: 'train-00000',
  task: task.id,
  index,
  policyVersion: 0,
  maxSteps,
  seed: [1, index],
})
