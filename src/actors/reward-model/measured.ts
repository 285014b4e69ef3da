import type { RulesConfig } from '../../config-schema/sections.ts'
import type { Task } from '../../environments/port.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import type { EventData } from '../../events/catalogue.ts'
import { itemAt } from '../../item-at.ts'
import { needsOfBatch, rulesOf } from '../../learning/registry.ts'
import type { Need } from '../../learning/rules.ts'
import type { Seed } from '../../random.ts'
import { isSettingFault } from '../../user-code.ts'
import type { TellFault } from '../runtime/tell-fault.ts'

/**
 * Returns true if true progress of a rollout's steps is told beside its verdicts. It costs about as much as judging. So
 * only some rollouts of a training group are measured, unless the reward is made of progress.
 *
 * @param measuredRollouts how many rollouts of a group are measured, or null for all
 * @param wanted what a reward may be made of so that all are measured
 */
export function isMeasured(
  { purpose, index }: Pick<EventData<'TrajectoryCompleted'>, 'purpose' | 'index'>,
  measuredRollouts: number | null,
  config: RulesConfig,
  wanted: readonly Need[] = ['progress', 'falls'],
): boolean {
  const needs = needsOfBatch(rulesOf(config))
  if (purpose === 'evaluation' || wanted.some((need) => needs.has(need))) return true
  return measuredRollouts === null || index < measuredRollouts
}

/**
 * Returns the true progress of an episode's steps, [actions]. Returns null if the setting or this episode tells none.
 */
export async function progressOf(
  { setting, environment }: OpenSetting,
  task: Task,
  seed: Seed,
  actions: readonly string[],
): Promise<Float32Array | null> {
  // The same actions need not lead to the same states.
  if (environment.deterministic === false) return null
  return (await setting.progress?.(environment, task, seed, actions)) ?? null
}

/** Measures a rollout that is judged all the same. A fault of the setting costs only the measurement, and is told. */
async function told<T>(tell: TellFault, measure: () => Promise<T | null>): Promise<T | null> {
  try {
    return await measure()
  } catch (error) {
    if (!isSettingFault(error)) throw error
    await tell(error)
    return null
  }
}

/** Estimates of an episode's steps, [actions]. Null if they are not told. */
export type Estimates = {
  readonly progress: Float32Array | null
  readonly falls: Float32Array | null
}

/** Measures the progress of a rollout's steps and, if the reward is made of them, by how much the estimate of the rest fell. */
export async function toldEstimates(
  tell: TellFault,
  opened: OpenSetting,
  config: RulesConfig,
  task: Task,
  { seed, actions }: Played,
): Promise<Estimates> {
  const progress = await toldProgress(tell, opened, task, { seed, actions })
  const isWanted = needsOfBatch(rulesOf(config)).has('falls')
  return { progress, falls: isWanted ? await toldFalls(tell, opened, task, { seed, actions }) : null }
}

type Played = Pick<EventData<'TrajectoryCompleted'>, 'seed' | 'actions'>

export function toldProgress(
  tell: TellFault,
  opened: OpenSetting,
  task: Task,
  { seed, actions }: Played,
): Promise<Float32Array | null> {
  return told(tell, () => progressOf(opened, task, seed, actions))
}

/** By how much the setting's estimate of the rest fell with each step, [actions]. Null if it tells none. */
export function toldFalls(
  tell: TellFault,
  { setting, environment }: OpenSetting,
  task: Task,
  { seed, actions }: Played,
): Promise<Float32Array | null> {
  return told(tell, async () => (await setting.falls?.(environment, task, seed, actions)) ?? null)
}

/** Measures by the true state what a step gained. Both estimates are that figure. */
export async function toldByOracle(
  tell: TellFault,
  { setting, environment }: OpenSetting,
  task: Task,
  { seed, actions }: Pick<EventData<'TrajectoryCompleted'>, 'seed' | 'actions'>,
): Promise<Estimates> {
  const gained = await told(
    tell,
    async () => (await setting.oracle?.(environment, task, seed, actions)) ?? null,
  )
  return { progress: gained, falls: gained }
}

/** Returns the estimates of one step as its event has them. */
export function estimateAt(
  { progress, falls }: Estimates,
  step: number,
): Pick<EventData<'StepScored'>, 'progress' | 'fall'> {
  return {
    progress: progress ? itemAt(progress, step) : null,
    ...(falls ? { fall: itemAt(falls, step) } : {}),
  }
}

export const NO_ESTIMATES: Estimates = { progress: null, falls: null }
