/** Refuses readers and deciders that know another log: the run was restored from a copy, or another head wrote since. */
import { RlError } from '../../errors.ts'
import type { CheckedEvent } from '../../events/codec.ts'
import type { ReadRequest } from '../../events/log-protocol.ts'
import type { LogReader } from '../../events/log-reader.ts'

export type RollbackCheck = {
  /**
   * Returns why an event may not be appended, or null. If its cause is not in the log, its decider has read the log of a head that
   * has lost the run since.
   */
  readonly refusal: (event: CheckedEvent) => RlError | null
  /**
   * Checks a reader's knowledge: its last position, a position with its hash, and the epoch of the last head that it
   * heard. Errors: `log.rolled-back`.
   */
  readonly checkSeen: (known: number, seen: ReadRequest['seen'], heard?: number) => void
}

/** @param epoch of this head. The first position that it can write is the one after the log's head at this call. */
export function openRollbackCheck(
  log: Pick<LogReader, 'run' | 'head' | 'hashAt' | 'positionOf'>,
  epoch: number,
): RollbackCheck {
  const first = log.head().position + 1

  function refusal({ envelope: { type, cause } }: CheckedEvent): RlError | null {
    if (cause === null || log.positionOf('id', cause) !== null) return null
    return rolledBack(`the cause of ${type} is not there: ${cause}`)
  }

  function rolledBack(how: string): RlError {
    return new RlError(`the log of run '${log.run}' was rolled back: ${how}`, {
      code: 'log.rolled-back',
      hint: 'throw away what was made of its events and read from position 1',
    })
  }

  function checkSeen(known: number, seen: ReadRequest['seen'], heard = epoch): void {
    const { position } = log.head()
    const isOthers = heard > 0 && heard < epoch && known >= first
    const isSame = !seen || (seen.position <= position && log.hashAt(seen.position) === seen.hash)
    if (known > position || isOthers || !isSame)
      throw rolledBack(`position ${isSame ? known : seen?.position} is not what the reader saw`)
  }

  return { refusal, checkSeen }
}
