/**
 * Checks that a run's folder holds what the run needs to go on. The check comes before anything is started or appended.
 */
import type { RunFolder } from '../../broker/connection.ts'
import { explain, RlError } from '../../errors.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import { type LogReader, openLogReader } from '../../events/log-reader.ts'
import { offlineLog } from '../../events/offline-log.ts'
import { checkedFolder, fetchMissing, type ModelRole, UPDATED } from '../learner/checkpoints.ts'

/**
 * Checks the weights that roles of this head are going to load, and the blobs of open iterations.
 * Errors: `run.file-lost`, which names the first file that is missing or damaged.
 */
export async function checkNeededFiles(
  { run, log: path }: RunFolder,
  roles: readonly string[],
): Promise<void> {
  const log = openLogReader(path)
  try {
    const open = openIterations(log)
    checkBlobs(log, open[0]?.position ?? log.head().position + 1)
    for (const role of ['policy', 'reward-model'] as const)
      if (roles.includes(role)) await checkWeights(log, role, versionsOf(open, role))
  } catch (error) {
    throw new RlError(`run '${run}' stays paused: ${explain(error)}`, {
      code: 'run.file-lost',
      hint: 'nothing was started and nothing was appended: when the file is back, the same command goes on',
      cause: error,
    })
  } finally {
    log.close()
  }
}

/** Returns the iterations that were begun and are not over. */
export function openIterations(log: LogReader): readonly LoggedEvent<'IterationStarted'>[] {
  return [...log.events({ types: ['IterationStarted'] })].filter(
    ({ data }) => log.positionOf('key', `IterationCompleted/${data.iteration}`) === null,
  )
}

/** Returns the versions that play and judge open rollouts. */
function versionsOf(open: readonly LoggedEvent<'IterationStarted'>[], role: ModelRole): readonly number[] {
  return open.map(({ data }) => (role === 'policy' ? data.policyVersion : data.rewardModelVersion))
}

/** Roles read the events of open iterations whole. */
function checkBlobs(log: LogReader, from: number): void {
  for (const event of log.events({ from })) {
    const files =
      event.type === 'BatchReady'
        ? [event.data.file]
        : event.type === 'FramesRecorded'
          ? event.data.frames
          : []
    for (const ref of files) log.blobs.get(ref)
  }
}

/** The newest version, and others that are needed: the folders that hold their weights. */
async function checkWeights(log: LogReader, role: ModelRole, versions: readonly number[]): Promise<void> {
  const updates = [...log.events({ types: [UPDATED[role]] })]
  const newest = updates.at(-1)
  if (newest === undefined) return
  const checked = new Set<number>()
  for (const wanted of new Set([newest.data.version, ...versions])) {
    const holder = updates.findLast(({ data }) => data.version <= wanted && data.checkpoint !== null)
    if (!holder?.data.checkpoint || checked.has(holder.position)) continue
    checked.add(holder.position)
    await fetchMissing(offlineLog(log), role, holder)
    await checkedFolder(holder.run, holder.data.checkpoint, `${role} version ${holder.data.version}`)
  }
}
