import { correctResample } from './published/correct-resample.ts'
import { truncated } from './published/truncated.ts'
import { voidTurn } from './published/void-turn.ts'
import type { RolloutFilter } from './rules.ts'

/** Rules that leave out single rollouts. None of them acts unless `learning.rollouts` names it. */
export const ROLLOUT_FILTERS: readonly RolloutFilter[] = [truncated, voidTurn, correctResample]
