/** Results of agents and grades as outcomes of rollouts. */
import { z } from 'zod'
import { safeParse } from '../safe-parse.ts'
import type { CallResult } from './worker.ts'

/** As the gateway takes it. */
export type Told =
  | {
      readonly success: boolean
      readonly score?: number
      readonly reason?: string
      readonly unsure?: boolean
    }
  | { readonly score: number; readonly reason?: string; readonly unsure?: boolean }
  | { readonly abstained: string }
  /** The outcome comes later, by somebody else. */
  | { readonly pending: true }
  | { readonly failed: 'agent' | 'env' | 'infra'; readonly error: string }

const reason = z.string().max(4_000).optional()
/** The grade is a guess, e.g. of a model. */
const unsure = z.boolean().optional()
const outcome = z.union([
  z.object({ success: z.boolean(), score: z.number().min(0).max(1).optional(), reason, unsure }),
  z.object({ score: z.number().min(0).max(1), reason, unsure }),
  z.object({ pending: z.literal(true) }),
  z.object({ abstained: z.union([z.string().max(2_000), z.literal(true)]) }),
])

/** Returns the outcome that an agent gave itself, or null if it gave a text or nothing. */
export function outcomeOf(value: unknown): Told | null {
  const parsed = safeParse(outcome, value)
  return parsed.success ? told(parsed.data) : null
}

/** Returns what a grade says: true or false, a number from 0 to 1, or an outcome. Anything else is a fault of the grade. */
export function gradeOf(result: CallResult): Told {
  if (result.kind === 'fault') return { failed: 'env', error: `the grade: ${result.error}` }
  const { value } = result
  if (typeof value === 'boolean') return { success: value }
  if (typeof value === 'number' && value >= 0 && value <= 1) return { score: value }
  return (
    outcomeOf(value) ?? {
      failed: 'env',
      error: `the grade gave ${(JSON.stringify(value) ?? 'nothing').slice(0, 200)}; it must be true, false, a number from 0 to 1, or { abstained }`,
    }
  )
}

function told(data: z.output<typeof outcome>): Told {
  if ('pending' in data) return { pending: true }
  if ('abstained' in data)
    return { abstained: data.abstained === true ? 'the agent gave up' : data.abstained }
  return data
}
