/** Work that was not done by its deadline, and still runs. */
import { type Clock, pause } from '../../clock.ts'

/**
 * Resolves when aborted work ends, or after its time once more: then it never will, and waited for it would keep its slot for good.
 * @param ms the time that it had
 */
export function lateEnd(
  work: Promise<unknown>,
  ms: number,
  stopping: AbortSignal,
  clock?: Clock,
): Promise<void> {
  const ended = new AbortController()
  const end = () => ended.abort()
  work.then(end, end)
  return pause(ms, AbortSignal.any([ended.signal, stopping]), clock)
}
