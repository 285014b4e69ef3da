import type { RewardModelConfig } from '../../config-schema/sections.ts'
import type { EventData } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { Train } from '../decider/jobs.ts'
import { readIteration } from '../rollout/log-queries.ts'
import { testAdvantages } from './test-batch.ts'

/** A unit test that an update may learn from. */
type WeighedTest = {
  /** `iteration/slot/test-index`. */
  readonly id: string
  readonly test: EventData<'UnitTestWritten'>
  /** Never 0. */
  readonly advantage: number
}

type WrittenTests = {
  /** In order of their slots and indices. */
  readonly tests: readonly WeighedTest[]
  readonly health: Readonly<Record<string, number>>
}

/** Reads what an update of a writer of unit tests is made of. The figures measure the writer even if it does not learn here. */
export async function readTests(
  log: LogClient,
  { groups, iteration }: Pick<Train, 'groups' | 'iteration'>,
  rewardModel: RewardModelConfig,
): Promise<WrittenTests> {
  const judged = await readIteration(log, iteration, ['TrajectoryCompleted', 'StepScored', 'UnitTestWritten'])
  const { TrajectoryCompleted: trajectories, StepScored: scored, UnitTestWritten: all } = judged
  const written = all.filter((test) => test.iteration === iteration)
  const { bySlot, health } = testAdvantages(groups, trajectories, scored, written, rewardModel)
  const tests = [...bySlot].flatMap(([slot, advantages]) =>
    written
      .filter((test) => test.slot === slot)
      .sort((a, b) => a.index - b.index)
      .map((test) => ({
        id: `${iteration}/${slot}/test-${test.index}`,
        test,
        advantage: advantages[test.index] ?? 0,
      }))
      .filter(({ advantage }) => advantage !== 0),
  )
  return { tests, health }
}
