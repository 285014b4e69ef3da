/** Time that a process waits for a head of which it has never heard. So nothing waits for a run that nobody knows. */
import { RlError } from '../../errors.ts'

export const HEAD_GONE_MS = 60_000

export function headGone(run: string, ms: number): RlError {
  return new RlError(`no head of run '${run}' was heard of for ${Math.round(ms / 1000)} s`, {
    code: 'actor.head-gone',
    hint: `compare the run and the address with the head's; it starts by: npm start -- --role head --run ${run}`,
  })
}
