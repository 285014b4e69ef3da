/** Cold starts that several runs of an ablation share. The first of these runs makes them. */

import { labelledRollouts } from '../config/labelled-rollouts.ts'
import { changeConfig } from '../config.ts'
import { baseConfig, type Results } from './results.ts'
import type { Planned } from './schedule.ts'
import { wordsOf } from './settings.ts'

/** Returns a name for each start that a run takes. A judge of the form `estimate` has one for all seeds. */
export function sharedStarts({ setting, seed }: Planned, results: Results): readonly string[] {
  const config = changeConfig(baseConfig(results), wordsOf(setting, seed, results.taskSeed))
  const learned = config.rewardModel.form === 'estimate' && labelledRollouts(config) > 0
  return [`policy ${seed}`, ...(learned ? ['judge'] : [])]
}

/** Whether a line of a head says that its cold starts are made. */
export function isPlaying(line: string): boolean {
  return /^(evaluation of policy|iteration \d)/.test(line)
}
