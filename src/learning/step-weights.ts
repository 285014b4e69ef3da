import { duration } from './published/duration.ts'
import { negativeScale } from './published/negative-scale.ts'
import { stepEntropy } from './published/step-entropy.ts'
import { threeSigma } from './published/three-sigma.ts'
import type { StepWeight } from './rules.ts'

/** Rules that weigh the steps of a batch. None of them acts unless `learning.weights` names it. */
export const STEP_WEIGHTS: readonly StepWeight[] = [negativeScale, threeSigma, duration, stepEntropy]
