/**
 * Continuations of a run's rollouts, kept in a run of their own. It shares the parent's events and never
 * changes them.
 */
import { existsSync } from 'node:fs'
import { uuidv7 } from 'uuidv7'
import type { RunFolder } from '../broker/connection.ts'
import { RlError } from '../errors.ts'
import { CATALOGUE } from '../events/catalogue.ts'
import { encodeEnvelope, INLINE_DATA_LIMIT } from '../events/codec.ts'
import { openLog } from '../events/log.ts'
import { type LogReader, openLogReader } from '../events/log-reader.ts'
import { pack } from '../events/msgpack.ts'
import { configAt } from './config-at.ts'
import { makeFork } from './fork.ts'
import type { Continuation } from './whatif.ts'

export type ChildStream = {
  /**
   * Appends a continuation as a TrajectoryCompleted. A continuation that the child already holds counts once.
   */
  readonly add: (continuation: Continuation) => void
  /** Continuations that were new. */
  readonly added: () => number
  readonly close: () => void
}

/**
 * Refuses a run that is there already and is no child of the parent.
 * @throws RlError `whatif.other-parent`
 */
export function checkChild(parent: LogReader, child: RunFolder): void {
  if (!existsSync(child.log)) return
  const log = openLogReader(child.log)
  const of = log.parent?.run
  log.close()
  if (of === parent.run) return
  throw new RlError(`run '${child.run}' is no child of '${parent.run}'`, {
    code: 'whatif.other-parent',
    hint: 'name another one with --as',
  })
}

/**
 * Makes the child at the parent's end, or opens an existing one.
 * @throws RlError `whatif.other-parent`
 */
export function openChildStream(parent: LogReader, child: RunFolder): ChildStream {
  const at = parent.head().position
  if (!existsSync(child.log))
    makeFork({ run: parent.run, log: parent.path }, child, { at, config: configAt(parent, at) })
  else checkChild(parent, child)
  const log = openLog(child.log, { run: child.run })
  let added = 0
  return {
    add({ trajectory, cause }) {
      const envelope = {
        id: uuidv7(),
        type: 'TrajectoryCompleted',
        v: CATALOGUE.TrajectoryCompleted.v,
        run: child.run,
        actor: 'environment/what-if',
        time: Date.now(),
        cause,
      }
      const inline = encodeEnvelope({ ...envelope, data: trajectory })
      const body =
        inline.byteLength <= INLINE_DATA_LIMIT
          ? inline
          : encodeEnvelope({ ...envelope, data: { $blob: log.blobs.put(pack(trajectory)) } })
      for (const { duplicate } of log.append([log.check(body)])) if (!duplicate) added++
    },
    added: () => added,
    close: log.close,
  }
}
