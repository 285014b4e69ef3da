/**
 * Rewards and metrics of the coding setting. A policy wrote programs, a reward model wrote unit tests, and they were run
 * against one another (paper section 2.3 and appendix A.2). Pure functions over tables of results.
 */
import { itemAt } from '../item-at.ts'
import { moments, stableMean, ZERO_DEVIATION } from './moments.ts'

/** Results of one task. */
export type TestedTask = {
  /** [programs][dataset tests] whether the program passes the test. */
  readonly dataset: readonly (readonly boolean[])[]
  /** [programs][generated tests] whether the program passes the test. False if the test is not valid. */
  readonly generated: readonly (readonly boolean[])[]
  /** [generated tests] false if the test could not be read from the model's text. */
  readonly valid: readonly boolean[]
  /** [generated tests] true if the task does not show the test's input. Absent if that is unknown. */
  readonly novel?: readonly (boolean | undefined)[]
}

/** Returns the results of novel tests only. */
export function novelTests({ dataset, generated, valid, novel = [] }: TestedTask): TestedTask {
  const kept = valid.flatMap((isValid, test) => (isValid && novel[test] === true ? [test] : []))
  return {
    dataset,
    generated: generated.map((passes) => kept.map((test) => itemAt(passes, test))),
    valid: kept.map(() => true),
    novel: kept.map(() => true),
  }
}

/** Returns r_c: the share of the dataset's tests that each program passes, in [0, 1]. Generated tests do not count. */
export function policyRewards(dataset: TestedTask['dataset']): Float64Array {
  return Float64Array.from(dataset, (passes) => shareOfTrue(passes))
}

/** Returns for each program whether it passes all dataset tests: the ground-truth ("gt") programs. A task without tests has none. */
const groundTruth = (dataset: TestedTask['dataset']): boolean[] =>
  dataset.map((passes) => passes.length > 0 && passes.every(Boolean))

/** Returns the share of programs that pass all dataset tests. */
export const taskAccuracy = (dataset: TestedTask['dataset']): number => shareOfTrue(groundTruth(dataset))

export type TestRewardOptions = {
  /** Reward of an unreadable test. `minimum`: that of the worst readable test, - #non-gt. `reference`: 0, as released. */
  readonly invalid: 'minimum' | 'reference'
  /** If true, a test with an input that its task shows earns as an unreadable one. */
  readonly novelOnly?: boolean
}

/**
 * Returns the reward of each generated test. If every program is right: +1 if all pass the test, else -1. Otherwise a test that all
 * right programs pass earns + the number of wrong programs that fail it. Any other test earns - the number of wrong programs that
 * pass it. Returns null without a right program: then nothing says which tests are right.
 */
export function testRewards(
  { dataset, generated, valid, novel = [] }: TestedTask,
  { invalid, novelOnly = false }: TestRewardOptions = { invalid: 'minimum' },
): Float64Array | null {
  const right = groundTruth(dataset)
  if (!right.includes(true)) return null
  const wrongCount = right.filter((isRight) => !isRight).length
  return Float64Array.from(valid, (isValid, test) => {
    if (!isValid || (novelOnly && novel[test] === false))
      return invalid === 'reference' ? (wrongCount === 0 ? -1 : 0) : -Math.max(wrongCount, 1)
    const passes = (isRight: boolean) =>
      right.filter((is, i) => is === isRight && generated[i]?.[test]).length
    const isTrue = passes(true) === right.length - wrongCount
    if (wrongCount === 0) return isTrue ? 1 : -1
    const wrongThatPass = passes(false)
    // `0 -` avoids a negative zero for a test that nobody passes.
    return isTrue ? wrongCount - wrongThatPass : 0 - wrongThatPass
  })
}

/** Returns population z-scores. They are zeros if all rewards are equal. */
export function standardise(rewards: Float64Array): Float64Array {
  const { mean, deviation } = moments(rewards)
  return rewards.map((reward) => (deviation < ZERO_DEVIATION ? 0 : (reward - mean) / deviation))
}

export type AccuracyRange = { readonly least: number; readonly most: number }

/** Range of tasks that teach: some programs solve them, but not nearly all. */
const TRAINABLE: AccuracyRange = { least: 0.2, most: 0.8 }

/** Returns whether a task's samples are trained on. For the reward model it also needs a right program. */
export function isTrainable(
  dataset: TestedTask['dataset'],
  model: 'policy' | 'reward-model',
  { least, most }: AccuracyRange = TRAINABLE,
): boolean {
  const accuracy = taskAccuracy(dataset)
  const inRange = accuracy >= least && accuracy <= most
  return model === 'policy' ? inRange : inRange && accuracy > 0
}

export type CodingMetrics = {
  /** Mean over tasks of the share of programs that pass all dataset tests. Null without tasks. */
  readonly code: number | null
  /** Share of generated tests that all right programs pass, over tasks with a right program. Null without such tests. */
  readonly unitTest: number | null
  /** Share of generated tests that all right programs pass and all wrong ones fail, over tasks with both. Null without such tests. */
  readonly detect: number | null
  readonly counts: {
    readonly tasks: number
    /** Number of tasks behind `unitTest` and `detect`. */
    readonly unitTestTasks: number
    readonly detectTasks: number
    readonly generatedTests: number
    readonly invalidTests: number
  }
}

/** Returns Code, UT and Detect. An unreadable test counts as wrong. */
export function codingMetrics(tasks: readonly TestedTask[]): CodingMetrics {
  const withRight = tasks.filter(({ dataset }) => groundTruth(dataset).includes(true))
  const withBoth = withRight.filter(({ dataset }) => groundTruth(dataset).includes(false))
  const flags = (some: readonly TestedTask[], perfect: boolean) =>
    some.flatMap((task) => task.valid.map((isValid, test) => isValid && isGood(task, test, perfect)))
  const mean = (values: readonly boolean[]) => (values.length === 0 ? null : shareOfTrue(values))
  return {
    code: tasks.length === 0 ? null : stableMean(tasks.map(({ dataset }) => taskAccuracy(dataset))),
    unitTest: mean(flags(withRight, false)),
    detect: mean(flags(withBoth, true)),
    counts: {
      tasks: tasks.length,
      unitTestTasks: withRight.length,
      detectTasks: withBoth.length,
      generatedTests: tasks.reduce((sum, { valid }) => sum + valid.length, 0),
      invalidTests: tasks.reduce((sum, { valid }) => sum + valid.filter((isValid) => !isValid).length, 0),
    },
  }
}

/** Returns whether all right programs pass the test. For a perfect test all wrong programs must fail it too. */
function isGood({ dataset, generated }: TestedTask, test: number, perfect: boolean): boolean {
  return groundTruth(dataset).every((isRight, i) => {
    const passes = itemAt(itemAt(generated, i), test)
    return isRight ? passes : !perfect || !passes
  })
}

/** Returns the program that passes most of the valid generated tests, the first of equals. Returns -1 without programs. */
export function bestOfN({ generated, valid }: Pick<TestedTask, 'generated' | 'valid'>): number {
  const scores = generated.map((passes) => passes.filter((pass, test) => pass && valid[test]).length)
  return scores.indexOf(Math.max(...scores))
}

/**
 * Returns the share of tasks whose program with the most passed generated tests is right, over tasks with programs and a valid
 * test. Returns null without such tasks.
 */
export function bestOfNAccuracy(tasks: readonly TestedTask[]): number | null {
  const chosen = tasks
    .filter(({ dataset, valid }) => dataset.length > 0 && valid.includes(true))
    .map((task) => itemAt(groundTruth(task.dataset), bestOfN(task)))
  return chosen.length === 0 ? null : shareOfTrue(chosen)
}

const shareOfTrue = (values: readonly boolean[]) =>
  values.length === 0 ? 0 : values.filter(Boolean).length / values.length
