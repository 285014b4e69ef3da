/** Causal credit of a drawn sample of a run's steps, which `rl rescore --branch` holds the advantages of rules to. */
import { RlError } from '../errors.ts'
import type { LogReader } from '../events/log-reader.ts'
import { correlation, type Estimate } from '../learning/interval.ts'
import { rng, seedOf } from '../random.ts'
import { recordedRollout } from './continue-from.ts'
import { type Continuation, creditsOf, type StepCredit, type StepName } from './whatif.ts'

export type CreditOptions = {
  /** Number of steps that are drawn. */
  readonly steps: number
  /** Continuations of each arm of a step. */
  readonly branches: number
  readonly seed: number
  readonly onContinuation?: (continuation: Continuation) => void
}

/**
 * Draws steps of the rollouts that were trained on, and measures what each was worth under the version of the policy that played it.
 *
 * @throws RlError `whatif.no-steps`, and as `openWhatIf` and `creditOf`: a setting that is not deterministic is refused by name
 */
export async function drawnCredits(
  log: LogReader,
  { steps, branches, seed, onContinuation }: CreditOptions,
): Promise<readonly StepCredit[]> {
  const drawn = drawTrained(log, steps, seed)
  if (drawn.length === 0)
    throw new RlError(`run '${log.run}' has no steps of rollouts that trained its policy`, {
      code: 'whatif.no-steps',
      hint: 'rl status RUN tells how far it is',
    })
  return creditsOf(log, drawn, (step) => ({
    policyVersion: recordedRollout(log, step.rollout, step.step).request.policyVersion,
    n: branches,
    ...(onContinuation ? { onContinuation } : {}),
  }))
}

/** Draws steps of completed iterations, each as likely as any other, in order of the log. */
function drawTrained(log: LogReader, count: number, seed: number): readonly StepName[] {
  const completed = new Set<number>()
  for (const { data } of log.events({ types: ['IterationCompleted'] })) completed.add(data.iteration)
  const rollouts: { readonly rollout: string; readonly steps: number }[] = []
  for (const { data } of log.events({ types: ['TrajectoryCompleted'] })) {
    const { purpose, iteration, outcome, rollout, steps } = data
    if (purpose === 'train' && completed.has(iteration) && outcome.kind === 'scored')
      rollouts.push({ rollout, steps })
  }
  const total = rollouts.reduce((sum, { steps }) => sum + steps, 0)
  const order = rng(seedOf(seed, 'rescore-branch')).shuffle(
    Array.from({ length: total }, (_, index) => index),
  )
  const drawn = order.slice(0, count).sort((a, b) => a - b)
  const found: StepName[] = []
  let start = 0
  for (const { rollout, steps } of rollouts) {
    for (let at = drawn[found.length]; at !== undefined && at < start + steps; at = drawn[found.length])
      found.push({ rollout, step: at - start })
    start += steps
  }
  return found
}

/** Causal credit by rollout and step. */
export type CreditBook = ReadonlyMap<string, ReadonlyMap<number, number>>

export function creditBook(credits: readonly StepCredit[]): CreditBook {
  const book = new Map<string, Map<number, number>>()
  for (const { rollout, step, credit } of credits) {
    const own = book.get(rollout) ?? new Map<number, number>()
    own.set(step, credit.value)
    book.set(rollout, own)
  }
  return book
}

export type CreditAgreement = {
  readonly see: (rollout: string, advantages: ArrayLike<number> | undefined) => void
  /** Pearson's correlation of advantages and credit with its 95 % interval. Null if either does not vary. */
  readonly value: () => Estimate | null
}

/** Gathers the advantages of the steps of the book. A step without one counts as 0, since nothing is learned from it. */
export function openCreditAgreement(book: CreditBook): CreditAgreement {
  const points: (readonly [advantage: number, credit: number])[] = []
  return {
    see(rollout, advantages) {
      for (const [step, credit] of book.get(rollout) ?? []) points.push([advantages?.[step] ?? 0, credit])
    },
    value: () => correlation(points),
  }
}
