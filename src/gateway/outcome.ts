/** Words with which an agent may end a rollout. */
import { z } from 'zod'
import { apiError } from '../openai-api/errors.ts'
import { safeParse } from '../safe-parse.ts'
import type { Ending } from './rollouts.ts'

const observation = z.string().max(100_000).optional()
const schema = z.union([
  z.strictObject({
    /** In [0, 1]. If it is left out, it is 1 for success and 0 for failure. */
    score: z.number().min(0).max(1).optional(),
    success: z.boolean(),
    ended: z.enum(['goal', 'step-limit', 'gave-up', 'context']).optional(),
    observation,
  }),
  z.strictObject({
    score: z.number().min(0).max(1),
    ended: z.enum(['goal', 'step-limit', 'gave-up', 'context']).optional(),
    observation,
  }),
  z.strictObject({ abstained: z.string().max(2000), observation }),
  z.strictObject({
    failed: z.enum(['infra', 'env', 'agent', 'budget']),
    error: z.string().max(2000).default(''),
  }),
])

/** @throws ApiError 400 */
export function readOutcome(json: unknown): Ending {
  const parsed = safeParse(schema, json)
  if (!parsed.success)
    throw apiError(
      400,
      'an outcome is {"success": bool, "score"?: 0..1}, {"score": 0..1}, {"abstained": "why"} or {"failed": "infra"|"env"|"agent"|"budget", "error": "why"}',
      { code: 'invalid_value' },
    )
  const said = parsed.data
  if ('failed' in said)
    return { kind: 'failed', cause: said.failed, error: said.error || `the agent says: ${said.failed}` }
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
      outcome: { kind: 'scored', value, success },
      ended: said.ended ?? (success ? 'goal' : 'gave-up'),
      observation: said.observation ?? '',
    },
  }
}
