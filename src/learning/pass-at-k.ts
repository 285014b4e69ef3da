/** Accuracy of k answers to the same question. The unit is the question: all questions weigh the same. */
import { RlError } from '../errors.ts'
import { stableMean } from './moments.ts'

/**
 * Returns the mean over questions of the share of right answers.
 * @example averageAtK([[true, false], [true, true]]) // 0.75
 */
export function averageAtK(correct: readonly (readonly boolean[])[]): number {
  return stableMean(correct.map((answers) => answers.filter(Boolean).length / answers.length))
}

/**
 * Returns the unbiased pass@k of one question with c right answers among n: 1 - C(n - c, k) / C(n, k) (Chen et al. 2021).
 * @throws RlError `metrics.k` unless 1 <= k <= n
 * @example passAtK(10, 3, 1) // 0.3
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

/** Returns whether the most frequent answer is right. Of equally frequent answers the first counts. */
export function majority(answers: readonly string[], isCorrect: (answer: string) => boolean): boolean {
  const counts = new Map<string, number>()
  for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1)
  let best: string | null = null
  for (const [answer, count] of counts) if (best === null || count > (counts.get(best) ?? 0)) best = answer
  return best !== null && isCorrect(best)
}

/**
 * Returns the mean of `majority` over questions.
 * @example majorityAtK([{ answers: ['4', '5', '4'], correct: '4' }]) // 1
 */
export function majorityAtK(
  questions: readonly { readonly answers: readonly string[]; readonly correct: string }[],
): number {
  return stableMean(
    questions.map(({ answers, correct }) => (majority(answers, (answer) => answer === correct) ? 1 : 0)),
  )
}
