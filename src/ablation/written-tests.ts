/** The worth of written unit tests in a run of the coding setting, at its last evaluation. */
import { z } from 'zod'
import type { LogReader } from '../events/log-reader.ts'
import { unitTestsOfLog } from '../projections/unit-tests-of-log.ts'

const count = z.int().nonnegative()
const share = z.number().min(0).max(1)

export const writtenTestsSchema = z.array(
  z.strictObject({
    split: z.string(),
    tasks: count,
    /** Share of programs that are right, in the mean over tasks. */
    plain: share,
    /** Share of tasks whose program with the most passed written tests is right. Null if no test can be read. */
    bestOfN: share.nullable(),
    /** Share of written tests that are right, over `unitTestTasks`: tasks with a right program. Null if there are none. */
    unitTest: share.nullable(),
    unitTestTasks: count,
  }),
)

export type WrittenTests = z.infer<typeof writtenTestsSchema>

/** Returns null if no unit tests were written. */
export function writtenTestsOf(log: LogReader): WrittenTests | null {
  const [first] = log.events({ types: ['UnitTestWritten'] })
  if (first === undefined) return null
  const evaluated = unitTestsOfLog(log).filter(({ purpose }) => purpose === 'evaluation')
  const last = Math.max(...evaluated.map(({ iteration }) => iteration))
  return evaluated
    .filter(({ iteration }) => iteration === last)
    .flatMap(({ split, tasks, code, bestOfN, unitTest, unitTestTasks }) =>
      code === null ? [] : [{ split, tasks, plain: code, bestOfN, unitTest, unitTestTasks }],
    )
}
