/** Schemas of what the functions of a user's rule return. The loop compares a result with what it asked for. */
import { z } from 'zod'
import { safeParse } from '../safe-parse.ts'

const list = z.custom<ArrayLike<unknown>>(
  (value) => Array.isArray(value) || ArrayBuffer.isView(value),
  'expected a list',
)

/** A list of numbers in a range, so that one step's reward cannot drown all others. */
const numbersIn = (low: number, high: number) =>
  list.superRefine((found, context) => {
    const wrong = Array.from(found).findIndex(
      (one) => !(typeof one === 'number' && one >= low && one <= high),
    )
    if (wrong < 0) return
    const bounds = Number.isFinite(high) ? `a number from ${low} to ${high}` : 'a number'
    const message = `expected ${bounds}, and got ${String(found[wrong])}`
    context.addIssue({ code: 'custom', path: [wrong], message })
  })

/** Lists of such numbers, one a rollout. */
const rowsIn = (low: number, high: number) =>
  list.superRefine((rows, context) => {
    for (const [index, row] of Array.from(rows).entries()) {
      const { error } = safeParse(numbersIn(low, high), row)
      for (const { path, message } of error?.issues.slice(0, 1) ?? [])
        context.addIssue({ code: 'custom', path: [index, ...path], message })
    }
  })

const MOST = Number.MAX_VALUE
const weight = z.number()

/** By the name of the function. */
export const RESULTS = {
  parts: z.looseObject({ outcome: z.number().min(-1).max(1), steps: numbersIn(-1, 1) }),
  weights: z.looseObject({ outcome: weight, step: weight }),
  advantages: rowsIn(-MOST, MOST),
  leavesOut: z.string().min(1).nullable(),
  weigh: z.array(z.looseObject({ weight: z.number().min(0).max(MOST), why: z.string().min(1).nullable() })),
  keep: numbersIn(0, 1),
  factors: rowsIn(0, MOST),
  choose: z.array(z.string()),
  size: z.int().min(2).max(10_000),
  maxSteps: z.int().min(1),
  look: z.string().min(1).nullable(),
  decide: z.looseObject({ accepted: z.boolean(), reason: z.string() }),
} satisfies Readonly<Record<string, z.ZodType>>

/** Name of a function of a rule. */
export type RulePart = keyof typeof RESULTS
