/** Accuracy of k answers to the same question. The unit is the question: each weighs the same. */
import { RlError } from '../errors.ts'
import { stableMean } from './moments.ts'

/** Mean over questions of the share of right answers. */
export function averageAtK(correct: readonly (readonly boolean[])[]): number {
  return stableMean(correct.map((answers) => answers.filter(Boolean).length / answers.length))
}

/**
 * Unbiased pass@k of one question with c right ones among n answers: 1 - C(n - c, k) / C(n, k) (Chen et al. 2021).
 * Throws `metrics.k` unless 1 <= k <= n.
 */
export function passAtK(n: number, c: number, k: number): number {
  if (!(Number.isInteger(k) && k >= 1 && k <= n))
    throw new RlError(`pass@${k} cannot be told from ${n} answers`, {
      code: 'metrics.k',
      hint: 'choose k between 1 and the number of rollouts a task',
    })
  if (n - c < k) return 1
  let none = 1
  for (let i = n - c + 1; i <= n; i++) none *= 1 - k / i
  return 1 - none
}

/** Whether the most frequent answer is right; of equally frequent ones the first given counts. */
export function majority(answers: readonly string[], isCorrect: (answer: string) => boolean): boolean {
  const counts = new Map<string, number>()
  for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1)
  let best: string | null = null
  for (const [answer, count] of counts) if (best === null || count > (counts.get(best) ?? 0)) best = answer
  return best !== null && isCorrect(best)
}

/** Mean over questions of `majority`. */
export function majorityAtK(
  questions: readonly { readonly answers: readonly string[]; readonly correct: string }[],
): number {
  return stableMean(
    questions.map(({ answers, correct }) => (majority(answers, (answer) => answer === correct) ? 1 : 0)),
  )
}
