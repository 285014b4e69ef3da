/** Cold starts that several runs of an ablation share. The first of these runs makes them. */

import { labelledRollouts } from '../config/labelled-rollouts.ts'
import { changeConfig } from '../config.ts'
import { baseConfig, type Results } from './results.ts'
import { type Planned, policyStart } from './schedule.ts'
import { wordsOf } from './settings.ts'

/** Returns a name for each start that a run takes. A judge of the form `estimate` has one for all seeds. */
export function sharedStarts(run: Planned, results: Results): readonly string[] {
  const config = changeConfig(baseConfig(results), wordsOf(run.setting, run.seed, results.taskSeed))
  const learned = config.rewardModel.form === 'estimate' && labelledRollouts(config) > 0
  return [policyStart(run), ...(learned ? ['judge'] : [])]
}
