/** Words with which an agent may end a rollout. */
import { z } from 'zod'
import { apiError } from '../openai-api/errors.ts'
import { safeParse } from '../safe-parse.ts'
import type { Ending, Note } from './open-rollout.ts'

const observation = z.string().max(100_000).optional()
/** Words of the grade. */
const reason = z.string().max(4_000).optional()
/** The teller is a model, or guesses. */
const unsure = z.boolean().optional()
const schema = z.union([
  z.strictObject({
    /** In [0, 1]. If it is left out, it is 1 for success and 0 for failure. */
    score: z.number().min(0).max(1).optional(),
    success: z.boolean(),
    ended: z.enum(['goal', 'step-limit', 'gave-up', 'context']).optional(),
    observation,
    reason,
    unsure,
  }),
  z.strictObject({
    score: z.number().min(0).max(1),
    ended: z.enum(['goal', 'step-limit', 'gave-up', 'context']).optional(),
    observation,
    reason,
    unsure,
  }),
  z.strictObject({ pending: z.literal(true) }),
  z.strictObject({ abstained: z.string().max(2000), observation }),
  z.strictObject({
    failed: z.enum(['infra', 'env', 'agent', 'budget']),
    error: z.string().max(2000).default(''),
  }),
])

const noteSchema = z
  .strictObject({
    score: z.number().min(-1).max(1).optional(),
    text: z.string().min(1).max(4_000).optional(),
  })
  .refine(({ score, text }) => score !== undefined || text !== undefined)

/** Reads what somebody says of one call. Errors: ApiError 400. */
export function readNote(json: unknown): Note {
  const parsed = safeParse(noteSchema, json)
  if (!parsed.success)
    throw apiError(400, 'a note is {"score"?: -1..1, "text"?: "..."}, with one of them at least', {
      code: 'invalid_value',
    })
  return { score: parsed.data.score ?? null, text: parsed.data.text ?? null }
}

/** @throws ApiError 400 */
export function readOutcome(json: unknown): Ending {
  const parsed = safeParse(schema, json)
  if (!parsed.success)
    throw apiError(
      400,
      'an outcome is {"success": bool, "score"?: 0..1}, {"score": 0..1}, {"abstained": "why"}, {"pending": true} or {"failed": "infra"|"env"|"agent"|"budget", "error": "why"}',
      { code: 'invalid_value' },
    )
  const said = parsed.data
  if ('failed' in said)
    return { kind: 'failed', cause: said.failed, error: said.error || `the agent says: ${said.failed}` }
  if ('pending' in said) return { kind: 'pending' }
  if ('abstained' in said)
    return {
      kind: 'outcome',
      outcome: {
        outcome: { kind: 'abstained', reason: said.abstained },
        ended: 'gave-up',
        observation: said.observation ?? '',
      },
    }
  const success = 'success' in said ? said.success : said.score === 1
  const value = said.score ?? (success ? 1 : 0)
  return {
    kind: 'outcome',
    outcome: {
      outcome: {
        kind: 'scored',
        value,
        success,
        ...(said.reason ? { reason: said.reason } : {}),
        ...(said.unsure ? { unsure: true } : {}),
      },
      ended: said.ended ?? (success ? 'goal' : 'gave-up'),
      observation: said.observation ?? '',
    },
  }
}
