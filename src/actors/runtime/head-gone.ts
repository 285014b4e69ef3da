/** Longest absence of the head. After it every process that waits for the head ends, so that nothing waits for ever. */
import { RlError } from '../../errors.ts'

export const HEAD_GONE_MS = 60_000

export function headGone(run: string, ms: number): RlError {
  return new RlError(`the head of run '${run}' has been away for ${Math.round(ms / 1000)} s`, {
    code: 'actor.head-gone',
    hint: `start it again: npm start -- --role head --run ${run}`,
  })
}
