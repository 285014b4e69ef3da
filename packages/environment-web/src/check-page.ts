/**
 * Checks pages for two promises on which learning depends: the same seed and actions give the same page, and
 * the oracle solves it.
 */
import { type Rng, rng, seedOf, type Task } from 'rlanything/environments'
import type { WebEnvironment, WebEpisode } from './environment.ts'

const MOST_RANDOM_STEPS = 12
const MOST_ORACLE_STEPS = 80

export type PageResult = {
  readonly page: string
  readonly seeds: number
  /** Seeds on which the two browsers differed, with the first difference. */
  readonly differences: number
  /** Seeds that could not be played to their end. */
  readonly faults: number
  readonly solved: number
  readonly random: number
  readonly steps: number
  /** The first difference. If there is none, the first other problem. */
  readonly problem: string | null
}

/**
 * Plays each task of a page in two browsers with the same random actions, and once with the oracle.
 * @param tasks tasks of one page
 */
export async function checkPage(
  page: string,
  tasks: readonly Task[],
  [one, other]: readonly [WebEnvironment, WebEnvironment],
): Promise<PageResult> {
  let [differences, faults, solved, random, steps] = [0, 0, 0, 0, 0]
  let differed: string | null = null
  let problem: string | null = null
  for (const [index, task] of tasks.entries()) {
    try {
      const { difference, outcome } = await playTwice(one, other, task, rng(seedOf(index, page)))
      random += outcome
      if (difference !== null) {
        differences++
        differed ??= `seed ${index}: ${difference}`
      }
      const ended = await byOracle(one, task)
      steps += ended.steps
      solved += ended.outcome()
      if (ended.outcome() !== 1)
        problem ??= `seed ${index}: the oracle ended with ${ended.turn.ended} after ${ended.steps} steps`
    } catch (error) {
      faults++
      problem ??= `seed ${index}: ${error instanceof Error ? error.message : error}`
    }
  }
  return {
    page,
    seeds: tasks.length,
    differences,
    faults,
    solved,
    random,
    steps,
    problem: differed ?? problem,
  }
}

async function byOracle(environment: WebEnvironment, task: Task): Promise<WebEpisode> {
  let episode = await environment.reset(task, { seed: [0, 0], maxSteps: MOST_ORACLE_STEPS })
  // If the oracle has no more advice, steps that do nothing lead to the end.
  while (!episode.turn.done) episode = await episode.step(environment.advice(episode.turn) ?? '')
  return episode
}

async function playTwice(
  one: WebEnvironment,
  other: WebEnvironment,
  task: Task,
  random: Rng,
): Promise<{ readonly difference: string | null; readonly outcome: number }> {
  const options = { seed: [0, 0] as const, maxSteps: MOST_RANDOM_STEPS }
  let a = await one.reset(task, options)
  let b = await other.reset(task, options)
  for (let step = 0; ; step++) {
    const difference = differenceOf(a, b)
    if (difference !== null) return { difference: `after ${step} actions ${difference}`, outcome: 0 }
    if (a.turn.done) return { difference: null, outcome: a.outcome() }
    const action = random.pick(a.turn.admissible)
    a = await a.step(action)
    b = await b.step(action)
  }
}

function differenceOf(a: WebEpisode, b: WebEpisode): string | null {
  for (const [x, y] of [
    [a.turn.observation, b.turn.observation],
    [a.turn.admissible.join('\n'), b.turn.admissible.join('\n')],
    [String(a.turn.ended), String(b.turn.ended)],
  ] as const) {
    if (x === y) continue
    const [left, right] = [x.split('\n'), y.split('\n')]
    const at = left.findIndex((line, i) => line !== right[i])
    return `'${left[Math.max(0, at)]}' and '${right[Math.max(0, at)]}'`
  }
  return null
}
