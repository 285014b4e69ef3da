/**
 * Turns an iteration's programs and unit tests into the worth of the tests: rewards, filter, advantages (rlanything
 * 5.3).
 */

import type { RewardModelConfig } from '../../config-schema/sections.ts'
import type { EventData } from '../../events/catalogue.ts'
import { itemAt } from '../../item-at.ts'
import {
  bestOfNAccuracy,
  codingMetrics,
  isTrainable,
  novelTests,
  standardise,
  type TestedTask,
  testRewards,
} from '../../learning/unit-tests.ts'
import type { LearnableGroup } from '../decider/jobs.ts'

type Trajectory = Pick<EventData<'TrajectoryCompleted'>, 'rollout' | 'outcome'>
type JudgedStep = Pick<EventData<'StepScored'>, 'rollout'> & {
  readonly judgements: readonly { readonly score: -1 | 0 | 1 }[]
}
type Written = Pick<EventData<'UnitTestWritten'>, 'iteration' | 'slot' | 'index' | 'novel'>

export type TestAdvantages = {
  /** Advantages of each slot, [tests]. Tasks that teach nothing are left out. */
  readonly bySlot: ReadonlyMap<string, Float64Array>
  readonly health: Readonly<Record<string, number>>
}

/** Returns everything of the reward model's update that needs no tokens. */
export function testAdvantages(
  groups: readonly LearnableGroup[],
  trajectories: readonly Trajectory[],
  scored: readonly JudgedStep[],
  written: readonly Written[],
  rewardModel: RewardModelConfig,
): TestAdvantages {
  const [least, most] = rewardModel.accuracyRange
  const success = new Map(
    trajectories.flatMap(({ rollout, outcome }) =>
      outcome.kind === 'scored' ? [[rollout, outcome.success] as const] : [],
    ),
  )
  const votes = new Map(scored.map(({ rollout, judgements }) => [rollout, judgements]))
  const tested = groups.map(({ slot, rollouts }) => ({
    ...testedTask(rollouts, success, votes),
    novel: noveltyOf(written.filter((test) => test.slot === slot)),
  }))
  const bySlot = new Map<string, Float64Array>()
  let trained = 0
  for (const [i, task] of tested.entries()) {
    if (!isTrainable(task.dataset, 'reward-model', { least, most })) continue
    const rewards = testRewards(task, { invalid: 'minimum', novelOnly: rewardModel.expert.novelTests })
    if (!rewards) continue
    const advantages = rewardModel.normalisation === 'none' ? rewards : standardise(rewards)
    bySlot.set(itemAt(groups, i).slot, advantages)
    trained += advantages.filter((advantage) => advantage !== 0).length
  }
  return { bySlot, health: { ...testFigures(tested), trainedTests: trained, tasksTrained: bySlot.size } }
}

/**
 * Returns Code, UT, Detect and best of N, and the last three over novel tests alone. Each figure comes with the count
 * that it is over. A figure over nothing is absent.
 */
function testFigures(tasks: readonly TestedTask[]): Record<string, number> {
  const { code, unitTest, detect, counts } = codingMetrics(tasks)
  const novel = tasks.map(novelTests)
  const { unitTest: novelUnitTest, detect: novelDetect } = codingMetrics(novel)
  const known = {
    code,
    unitTest,
    detect,
    bestOfN: bestOfNAccuracy(tasks),
    novelUnitTest,
    novelDetect,
    novelBestOfN: bestOfNAccuracy(novel),
  }
  return {
    ...(Object.fromEntries(Object.entries(known).filter(([, value]) => value !== null)) as Record<
      string,
      number
    >),
    unitTestTasks: counts.unitTestTasks,
    detectTasks: counts.detectTasks,
    invalidTestShare: counts.generatedTests === 0 ? 0 : counts.invalidTests / counts.generatedTests,
  }
}

/** Novelty of the tests, by the index of the test. */
function noveltyOf(written: readonly Written[]): (boolean | undefined)[] {
  const novel: (boolean | undefined)[] = []
  for (const test of written) novel[test.index] = test.novel
  return novel
}

/** Returns a task's judged programs and their votes. An unreadable test has no vote on any program. */
function testedTask(
  rollouts: readonly string[],
  success: ReadonlyMap<string, boolean>,
  votes: ReadonlyMap<string, JudgedStep['judgements']>,
): TestedTask {
  const judged = rollouts.filter((rollout) => votes.has(rollout) && success.has(rollout))
  const [first] = judged
  return {
    dataset: judged.map((rollout) => [success.get(rollout)!]),
    generated: judged.map((rollout) => votes.get(rollout)!.map(({ score }) => score === 1)),
    valid: first === undefined ? [] : votes.get(first)!.map(({ score }) => score !== 0),
  }
}
