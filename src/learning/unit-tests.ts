/**
 * Rewards and metrics of the coding setting: programs that a policy wrote, and unit tests that a reward model wrote, run
 * against one another (paper section 2.3 and appendix A.2; rlanything 5.3, 6.2, 6.4). Pure functions over tables of results.
 */
import { moments, stableMean, ZERO_DEVIATION } from './moments.ts'

/** What is known of one task. */
export type TestedTask = {
  /** [programs][dataset tests] whether the program passes the test. */
  readonly dataset: readonly (readonly boolean[])[]
  /** [programs][generated tests] whether the program passes the test; false where the test is not valid. */
  readonly generated: readonly (readonly boolean[])[]
  /** [generated tests] false for a test that could not be read out of the model's text. */
  readonly valid: readonly boolean[]
  /** [generated tests] whether a test's input is none that the task shows, where that is known. */
  readonly novel?: readonly (boolean | undefined)[]
}

/** The same of the tests alone that are known to be novel. */
export function novelTests({ dataset, generated, valid, novel = [] }: TestedTask): TestedTask {
  const kept = valid.flatMap((isValid, test) => (isValid && novel[test] === true ? [test] : []))
  return {
    dataset,
    generated: generated.map((passes) => kept.map((test) => passes[test])),
    valid: kept.map(() => true),
    novel: kept.map(() => true),
  }
}

/** r_c: the share of the dataset's tests that each program passes, in [0, 1]. No generated test enters it. */
export function policyRewards(dataset: TestedTask['dataset']): Float64Array {
  return Float64Array.from(dataset, (passes) => shareOfTrue(passes))
}

/** Whether each program passes all dataset tests: the ground-truth ("gt") programs. A task without tests has none. */
const groundTruth = (dataset: TestedTask['dataset']): boolean[] =>
  dataset.map((passes) => passes.length > 0 && passes.every(Boolean))

/** The share of programs that pass all dataset tests. */
export const taskAccuracy = (dataset: TestedTask['dataset']): number => shareOfTrue(groundTruth(dataset))

export type TestRewardOptions = {
  /** `minimum`: a test that cannot be read earns what the worst readable one could, - #non-gt. `reference`: 0, as released. */
  readonly invalid: 'minimum' | 'reference'
  /** A test that repeats an input that its task shows earns as one that cannot be read. */
  readonly novelOnly?: boolean
}

/**
 * The reward of each generated test (rlanything 5.3). Where every program is right: +1 if all pass it, else -1. Else a test that all
 * right programs pass earns + the number of wrong programs that fail it, and any other - the number of wrong programs that pass it.
 * Null without a right program: then nothing says which tests are right.
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
    const passes = (isRight: boolean) => right.filter((is, i) => is === isRight && generated[i][test]).length
    const isTrue = passes(true) === right.length - wrongCount
    if (wrongCount === 0) return isTrue ? 1 : -1
    const wrongThatPass = passes(false)
    // `0 -` keeps a test that nobody passes from earning a negative zero.
    return isTrue ? wrongCount - wrongThatPass : 0 - wrongThatPass
  })
}

/** Population z-scores; zeros where all rewards are the same. */
export function standardise(rewards: Float64Array): Float64Array {
  const { mean, deviation } = moments(rewards)
  return rewards.map((reward) => (deviation < ZERO_DEVIATION ? 0 : (reward - mean) / deviation))
}

export type AccuracyRange = { readonly least: number; readonly most: number }

/** Tasks that teach: solved by some programs and not by nearly all (rlanything 5.3). */
const TRAINABLE: AccuracyRange = { least: 0.2, most: 0.8 }

/** Whether a task's samples are trained on; for the reward model it needs a right program besides. */
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
  /** Mean over tasks of the share of programs that pass all dataset tests; null without tasks. */
  readonly code: number | null
  /** Share of generated tests that all right programs pass, over tasks with a right program; null without such tests. */
  readonly unitTest: number | null
  /** Share of generated tests that all right programs pass and all wrong ones fail, over tasks with both; null without such tests. */
  readonly detect: number | null
  readonly counts: {
    readonly tasks: number
    /** Tasks that `unitTest` and `detect` are over. */
    readonly unitTestTasks: number
    readonly detectTasks: number
    readonly generatedTests: number
    readonly invalidTests: number
  }
}

/** Code, UT and Detect (rlanything 6.1, 6.2). A test that cannot be read counts as wrong. */
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

/** Whether all right programs pass the test and, for a perfect one, all wrong ones fail it. */
function isGood({ dataset, generated }: TestedTask, test: number, perfect: boolean): boolean {
  return groundTruth(dataset).every((isRight, i) =>
    isRight ? generated[i][test] : !perfect || !generated[i][test],
  )
}

/** The program that passes most of the valid generated tests, the first of equals (rlanything 6.4); -1 without programs. */
export function bestOfN({ generated, valid }: Pick<TestedTask, 'generated' | 'valid'>): number {
  const scores = generated.map((passes) => passes.filter((pass, test) => pass && valid[test]).length)
  return scores.indexOf(Math.max(...scores))
}

/**
 * Share of tasks whose program with the most passed generated tests is right, over tasks with programs and a valid test;
 * null without such tasks (rlanything 6.4).
 */
export function bestOfNAccuracy(tasks: readonly TestedTask[]): number | null {
  const chosen = tasks
    .filter(({ dataset, valid }) => dataset.length > 0 && valid.includes(true))
    .map((task) => groundTruth(task.dataset)[bestOfN(task)])
  return chosen.length === 0 ? null : shareOfTrue(chosen)
}

const shareOfTrue = (values: readonly boolean[]) =>
  values.length === 0 ? 0 : values.filter(Boolean).length / values.length
