/**
 * Checks the parts of a model's update that follow from the log alone: its rollouts and the figures of their
 * rewards.
 */

import type { Train } from '../actors/decider/jobs.ts'
import { policyBatch } from '../actors/policy/batch.ts'
import { readsPassRates, seeRate } from '../actors/policy/pass-rates.ts'
import type { BatchSettings } from '../actors/policy/policy-advantages.ts'
import { openSuccessPool, type SuccessPool, withSuccesses } from '../actors/policy/success-pool.ts'
import { judgementAdvantages } from '../actors/reward-model/batch.ts'
import { testAdvantages } from '../actors/writing/test-batch.ts'
import type { Config } from '../config.ts'
import { settingOf } from '../environments/settings.ts'
import type { EventData, LoggedEvent, NewEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { wholeTrajectory } from '../events/stored-segments.ts'
import { openRateBook, type PassRates } from '../learning/pass-rates.ts'
import { openInstructionCheck } from './instructions-check.ts'

type Trajectory = EventData<'TrajectoryCompleted'>
type Scored = EventData<'StepScored'>
type Written = Pick<EventData<'UnitTestWritten'>, 'iteration' | 'slot' | 'index' | 'novel'>
type Iteration = {
  readonly trajectories: Trajectory[]
  readonly scored: Scored[]
  readonly written: Written[]
}

export type Updates = {
  readonly see: (event: LoggedEvent, config: Config) => void
  /**
   * Returns a contradiction between an update and the rewards that the config gives its rollouts, or null.
   */
  readonly contradiction: (update: LoggedEvent, job: Train, config: Config) => string | null
}

const NOTHING = new Uint8Array()

/**
 * Keeps trajectories and verdicts of open iterations. Of a verdict it keeps what enters a reward.
 *
 * @param log holds the columns of trajectories, if nobody else does
 */
export function openUpdates(log: LogReader): Updates {
  const iterations = new Map<number, Iteration>()
  const instructions = openInstructionCheck()
  const pool = openSuccessPool()
  const rates = openRateBook()
  /** Judgements by pattern. Most patterns repeat, so a step keeps one small object. */
  const patterns = new Map<string, Scored['judgements']>()

  function votesOnly(scored: Scored): Scored {
    const { rollout, iteration, step, task, rewardModelVersion, judgements } = scored
    const { probability, progress, fall, estimate } = scored
    const pattern = judgements.map(({ score, criterion = '' }) => `${score}${criterion}`).join()
    const votes =
      patterns.get(pattern) ??
      judgements.map(({ score, criterion }) => ({
        ...{ critique: '', score, tokensI32: NOTHING, logprobsF32: NOTHING },
        ...(criterion === undefined ? {} : { criterion }),
      }))
    patterns.set(pattern, votes)
    const estimates = {
      ...{ probability, progress },
      ...(fall === undefined ? {} : { fall }),
      ...(estimate === undefined ? {} : { estimate }),
    }
    return { rollout, iteration, step, task, rewardModelVersion, judgements: votes, ...estimates }
  }

  function iterationOf(iteration: number): Iteration {
    const known = iterations.get(iteration)
    if (known) return known
    const made: Iteration = { trajectories: [], scored: [], written: [] }
    iterations.set(iteration, made)
    return made
  }

  return {
    see(event, config) {
      instructions.see(event, config)
      if (config.learning.successPool) seeSuccess(pool, event)
      if (event.type === 'TrajectoryCompleted' && readsPassRates(config)) seeRate(rates, event.data)
      if (event.type === 'TrajectoryCompleted' && event.data.purpose !== 'evaluation')
        iterationOf(event.data.iteration).trajectories.push(event.data)
      else if (event.type === 'StepScored')
        iterationOf(event.data.iteration).scored.push(votesOnly(event.data))
      else if (event.type === 'UnitTestWritten') {
        const { iteration, slot, index, novel } = event.data
        iterationOf(iteration).written.push({ iteration, slot, index, novel })
      } else if (event.type === 'IterationCompleted') iterations.delete(event.data.iteration)
    },
    contradiction(update, { iteration, groups }, config) {
      if (update.type !== 'PolicyUpdated' && update.type !== 'RewardModelUpdated') return null
      const { trainedOn, metrics, stopped } = update.data
      if (metrics.simulated === 1) return null
      const wrong = update.type === 'PolicyUpdated' ? instructions.wrong(update.data.version) : null
      if (wrong !== null) return wrong
      const earlier: Earlier = {
        pool,
        rates: readsPassRates(config) ? rates.until(iteration) : null,
        whole: (one) => wholeTrajectory(one, log),
      }
      const rules = forUpdate(update.type, { iteration, groups }, iterationOf(iteration), config, earlier)
      // If nothing was trained (weights elsewhere, no trainer in time), there are no rollouts to check.
      const untrained = trainedOn.length === 0 && stopped !== null
      if (!untrained && rules.rollouts && rules.rollouts.join('\n') !== trainedOn.join('\n'))
        return `data.trainedOn: ${trainedOn.length} rollouts, where the rewards give ${rules.rollouts.length}${firstOther(trainedOn, rules.rollouts)}`
      for (const [name, value] of Object.entries(rules.health))
        if (!Object.is(metrics[name], value))
          return `data.metrics.${name}: ${metrics[name]}, where the rewards give ${value}`
      return null
    },
  }
}

/** Folds of earlier iterations that enter an update. */
type Earlier = {
  readonly pool: SuccessPool
  readonly rates: PassRates | null
  /** Returns a trajectory with its columns. */
  readonly whole: (trajectory: Trajectory) => Trajectory
}

function forUpdate(
  type: NewEvent['type'],
  { iteration, groups }: Pick<Train, 'iteration' | 'groups'>,
  { trajectories, scored, written }: Iteration,
  config: BatchSettings,
  earlier: Earlier,
): { readonly rollouts: readonly string[] | null; readonly health: Readonly<Record<string, number>> } {
  if (type === 'PolicyUpdated')
    return policyUpdate({ iteration, groups }, { trajectories, scored }, config, earlier)
  // A replay loads no module of a setting. If tests judge, the config says so too.
  const by = settingOf(config.environment)?.judging?.by
  const byTests = by === 'tests' || (by === undefined && config.rewardModel.judging === 'group')
  const { health } = byTests
    ? testAdvantages(groups, trajectories, scored, written, config.rewardModel)
    : judgementAdvantages(groups, trajectories, scored, config)
  return { rollouts: null, health }
}

function policyUpdate(
  { iteration, groups }: Pick<Train, 'iteration' | 'groups'>,
  { trajectories, scored }: Pick<Iteration, 'trajectories' | 'scored'>,
  config: BatchSettings,
  { pool, rates, whole }: Earlier,
) {
  if (!config.learning.successPool) return policyBatch(groups, trajectories.map(whole), scored, config, rates)
  const { groups: filled, pooled } = withSuccesses(groups, iteration, pool)
  const all = [...trajectories, ...pooled.map(({ trajectory }) => trajectory)]
  const { rollouts, health } = policyBatch(
    filled,
    all.map(whole),
    [...scored, ...pooled.flatMap((one) => one.scored)],
    config,
    rates,
  )
  return { rollouts, health: { ...health, groupsPooled: pooled.length } }
}

function seeSuccess(pool: SuccessPool, { type, data }: LoggedEvent): void {
  if (type === 'TrajectoryCompleted') pool.seeTrajectory(data)
  else if (type === 'StepScored') pool.seeScored(data)
}

function firstOther(found: readonly string[], expected: readonly string[]): string {
  const at = expected.findIndex((rollout, i) => rollout !== found[i])
  return at < 0 ? '' : `, the first other one ${expected[at]}`
}
