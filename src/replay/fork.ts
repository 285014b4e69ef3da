/** A new run that shares another's events up to a position, and goes on from there under its own config. */

import { uuidv7 } from 'uuidv7'
import { startDecider } from '../actors/decider/decider.ts'
import { splitsOf } from '../actors/decider/task-counts.ts'
import { deciderOf } from '../actors/deciders.ts'
import { codeVersion } from '../actors/head/code-version.ts'
import { inheritOwn } from '../actors/head/own-runs.ts'
import { MODEL_ROLES, UPDATED } from '../actors/learner/checkpoints.ts'
import type { RunFolder } from '../broker/connection.ts'
import { type Config, changeConfig, configDigest, loggable, loggedConfig } from '../config.ts'
import { RlError } from '../errors.ts'
import { CATALOGUE, type EventData } from '../events/catalogue.ts'
import { encodeEnvelope } from '../events/codec.ts'
import { collectedError, collectedIn } from '../events/collected.ts'
import { forkLog } from '../events/log.ts'
import { type LogReader, openLogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { configAt } from './config-at.ts'

export type Fork = {
  readonly run: string
  readonly parent: string
  readonly position: number
  readonly config: Config
}

/**
 * Makes the log of a fork. Nothing of the parent's is copied, and its files are only read. The fork's first
 * own event is a RunStarted with the changed config, which decides what follows from later events. Earlier
 * decisions whose events are after the position are carried out as decided.
 */
export function forkRun(
  parent: RunFolder,
  child: RunFolder,
  { at, set, now = Date.now() }: { at: number; set: readonly string[]; now?: number },
): Fork {
  const log = openLogReader(parent.log)
  const config = (() => {
    try {
      checkOpen(log, at)
      const before = configAt(log, at)
      // Other hosts have no log of the parent: a fork has one head.
      const alone = (before.run.replicas ?? 1) > 1 ? ['run.replicas=1'] : []
      const after = changeConfig(before, [...alone, ...set])
      refuseCollected(log, at)
      checkSplits(log, at, splitsOf(before.evaluation), splitsOf(after.evaluation))
      return after
    } finally {
      log.close()
    }
  })()
  makeFork(parent, child, { at, config, now })
  return { run: child.run, parent: parent.run, position: at, config }
}

/** Refuses a position whose newest versions were deleted: the fork could not go on. */
function refuseCollected(log: LogReader, at: number): void {
  for (const role of MODEL_ROLES) {
    const made = [...log.events({ until: at, types: [UPDATED[role]] })]
    const newest = made.findLast(({ data }) => data.checkpoint !== null)?.data.version
    if (newest !== undefined && collectedIn(log, role).has(newest)) throw collectedError(role, newest)
  }
}

/** The files of a fork: its link to the parent, and a RunStarted with its config. */
export function makeFork(
  parent: Pick<RunFolder, 'run' | 'log'>,
  child: RunFolder,
  { at, config, now = Date.now() }: { at: number; config: Config; now?: number },
): void {
  const data: EventData<'RunStarted'> = {
    config: loggable(config),
    configDigest: configDigest(config),
    codeVersion: codeVersion(),
    seed: config.run.seed,
    parent: { run: parent.run, position: at },
  }
  const first = encodeEnvelope({
    id: uuidv7(),
    type: 'RunStarted',
    v: CATALOGUE.RunStarted.v,
    run: child.run,
    actor: 'head',
    time: now,
    cause: null,
    data,
  })
  forkLog(child.log, { run: child.run, parent: parent.log, position: at, first })
  inheritMark(parent.log, child.log)
}

/** A fork of one's own run is one's own: its modules are as trusted as the parent's. */
function inheritMark(parent: string, child: string): void {
  const log = openLogReader(child)
  const above = openLogReader(parent)
  try {
    inheritOwn(above, log)
  } finally {
    above.close()
    log.close()
  }
}

/** A run whose end is decided cannot go on. */
function checkOpen(log: LogReader, at: number): void {
  const over = log.byKey('RunCompleted')
  if (!over) return
  const decided = log.positionOf('id', over.cause ?? '') ?? endDecidedAt(log) ?? over.position
  if (at >= decided)
    throw new RlError(`the end of run '${log.run}' is decided at position ${decided}`, {
      code: 'fork.too-late',
      hint: `fork it earlier: --at ${decided - 1} at most`,
    })
}

/**
 * Refuses a split without tasks. Tasks are loaded once, at the start of a run, so a fork would wait for them
 * for ever.
 */
function checkSplits(log: LogReader, at: number, before: readonly string[], after: readonly string[]): void {
  const known = new Set(before)
  const missing = after.filter((split) => !known.has(split))
  if (missing.length === 0) return
  for (const added of log.events({ types: ['TaskAdded'], until: at }))
    if (added.type === 'TaskAdded') known.add(added.data.split)
  const [split] = missing.filter((one) => !known.has(one))
  if (split !== undefined)
    throw new RlError(`evaluation.splits: the run '${log.run}' has loaded no tasks of ${split}`, {
      code: 'fork.new-split',
      hint: `name splits that it has (${before.slice(1).join(', ') || 'none'}), or start a new run: rl eval measures a model folder on any`,
    })
}

/** Finds the position at which the head decides the end, for a log that lost the cause of its end. */
function endDecidedAt(log: LogReader): number | null {
  const head = startDecider(deciderOf('head', loggedConfig(startsOf(log).first.data.config)))
  for (const event of log.events({ types: [...head.decider.interests] }))
    for (const output of head.handle(event))
      if (output.type === 'event' && output.event.type === 'RunCompleted') return event.position
  return null
}
