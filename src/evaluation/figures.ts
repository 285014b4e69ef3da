/**
 * Figures of evaluation rollouts: success with its interval, and k answers to the same task. Each says its
 * unit of n.
 */
import { type Estimate, meanBootstrap, wilson } from '../learning/interval.ts'
import { stableMean } from '../learning/moments.ts'
import { lastBox } from '../learning/parse-score.ts'
import { averageAtK, majority, passAtK } from '../learning/pass-at-k.ts'
import { type Seed, seedOf } from '../random.ts'
import type { Trajectory } from './play.ts'

export type EvaluationFigures = {
  readonly tasks: number
  /** Number of rollouts with an outcome, and of those lost to faults. */
  readonly rollouts: number
  readonly failed: number
  /** Over rollouts (Wilson) if there is one a task, else over tasks (bootstrap). */
  readonly success: Estimate & { readonly unit: 'rollouts' | 'tasks' }
  /** Means a rollout. */
  readonly steps: number
  readonly tokens: { readonly prompt: number; readonly cached: number; readonly generated: number }
  /** Steps whose answer could not be read. */
  readonly invalid: number
  /**
   * For tasks that have k outcomes, with k up to the number of rollouts a task. Empty if a task has one
   * rollout.
   */
  readonly passAtK: readonly { readonly k: number; readonly value: number; readonly n: number }[]
  /** Mean over tasks of the share of successes. */
  readonly averageAtK: number
  /**
   * Share of the tasks whose most frequent answer is right, if answers are in a box. Null if no rollout has
   * one.
   */
  readonly majorityAtK: number | null
  readonly kinds: readonly { readonly kind: string; readonly successes: number; readonly n: number }[]
}

/** @param played one entry a rollout: its task and its trajectory, or null if it was lost */
export function evaluationFigures(
  played: readonly { readonly task: string; readonly kind: string; readonly trajectory: Trajectory | null }[],
  seed: Seed,
): EvaluationFigures {
  const scored = played.flatMap(({ task, kind, trajectory }) =>
    trajectory?.outcome.kind === 'scored'
      ? [{ task, kind, trajectory, success: trajectory.outcome.success }]
      : [],
  )
  const byTask = grouped(scored, ({ task }) => task)
  const answers = [...byTask.values()].map((own) => own.map(({ success }) => success))
  const most = Math.max(0, ...answers.map((own) => own.length))
  const successes = scored.filter(({ success }) => success).length
  const mean = (pick: (trajectory: Trajectory) => number) =>
    stableMean(scored.map((one) => pick(one.trajectory)))
  return {
    tasks: byTask.size,
    rollouts: scored.length,
    failed: played.length - scored.length,
    success:
      most > 1
        ? {
            ...meanBootstrap(
              answers.map((own) => own.filter(Boolean).length / own.length),
              { seed: seedOf(seed, 'bootstrap') },
            ),
            unit: 'tasks',
          }
        : { ...wilson(successes, scored.length), unit: 'rollouts' },
    steps: mean(({ steps }) => steps),
    tokens: {
      prompt: mean(({ usage }) => usage.promptTokens),
      cached: mean(({ usage }) => usage.cachedTokens),
      generated: mean(({ usage }) => usage.completionTokens),
    },
    invalid: scored.reduce(
      (sum, { trajectory }) => sum + Object.values(trajectory.invalid).reduce((a, b) => a + b, 0),
      0,
    ),
    passAtK: most < 2 ? [] : powersUpTo(most).map((k) => passOver(answers, k)),
    averageAtK: answers.length === 0 ? 0 : averageAtK(answers),
    majorityAtK: majorityOver([...byTask.values()]),
    kinds: [...grouped(scored, ({ kind }) => kind)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([kind, own]) => ({
        kind,
        successes: own.filter(({ success }) => success).length,
        n: own.length,
      })),
  }
}

function passOver(answers: readonly (readonly boolean[])[], k: number) {
  const enough = answers.filter((own) => own.length >= k)
  const values = enough.map((own) => passAtK(own.length, own.filter(Boolean).length, k))
  return { k, value: stableMean(values), n: enough.length }
}

/** A rollout without a box has no answer, and does not count. */
function majorityOver(
  tasks: readonly (readonly { readonly trajectory: Trajectory; readonly success: boolean }[])[],
): number | null {
  const told = tasks.map((own) =>
    own.flatMap(({ trajectory, success }) => {
      const answer = lastBox(trajectory.actions.at(-1) ?? '')
      return answer === undefined ? [] : [{ answer: answer.trim(), success }]
    }),
  )
  if (told.every((own) => own.length === 0)) return null
  const right = told.map((own) => {
    const successes = new Set(own.flatMap(({ answer, success }) => (success ? [answer] : [])))
    return majority(
      own.map(({ answer }) => answer),
      (answer) => successes.has(answer),
    )
  })
  return stableMean(right.map(Number))
}

/** 1, 2, 4, ... and the limit itself. */
function powersUpTo(limit: number): number[] {
  const ks: number[] = []
  for (let k = 1; k < limit; k *= 2) ks.push(k)
  return [...ks, limit]
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const own = groups.get(keyOf(item))
    if (own) own.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}
