/** The weights of a version that a run learned, as a command names it: `RUN` or `RUN@VERSION`. */
import { checkedFolder, fetchMissing } from '../actors/learner/checkpoints.ts'
import { runFolder } from '../broker/connection.ts'
import { RlError } from '../errors.ts'
import { type LogReader, openLogReader } from '../events/log-reader.ts'
import { offlineLog } from '../events/offline-log.ts'

export type TrainedVersion = {
  readonly run: string
  readonly version: number
  /** A Hugging Face folder: a whole model or an adapter. */
  readonly folder: string
}

/**
 * Finds the folder of a policy version. A version that changed nothing has the weights of the one before.
 *
 * @param text e.g. `mine@3`; without a version it is the newest one
 * @throws RlError `cli.usage`, `run.unknown`, `model.no-checkpoint`, `model.corrupt`
 */
export async function trainedVersion(text: string): Promise<TrainedVersion> {
  const [run = '', wanted, ...rest] = text.split('@')
  if (rest.length > 0 || (wanted !== undefined && !/^\d{1,9}$/.test(wanted)))
    throw new RlError(`'${text.slice(0, 100)}' names no version`, {
      code: 'cli.usage',
      hint: 'write RUN or RUN@VERSION, e.g. mine@3',
    })
  const log = openLogReader(runFolder(run).log)
  try {
    const version = wanted === undefined ? newestOf(log) : Number(wanted)
    if (version === null || log.byKey(`PolicyUpdated/${version}`) === null)
      throw new RlError(`run '${run}' has no policy version ${wanted ?? 'yet'}`, {
        code: 'model.no-checkpoint',
        hint: `npm run -s rl -- status ${run}`,
      })
    for (let older = version; older >= 0; older--) {
      const event = log.byKey(`PolicyUpdated/${older}`)
      if (event?.type !== 'PolicyUpdated' || event.data.checkpoint === null) continue
      await fetchMissing(offlineLog(log), 'policy', event)
      const folder = await checkedFolder(event.run, event.data.checkpoint, `policy version ${older}`)
      return { run, version, folder }
    }
    throw new RlError(`the weights of policy version ${version} of run '${run}' are not on this machine`, {
      code: 'model.no-checkpoint',
      hint: 'its policy is behind an endpoint, or has no weights',
    })
  } finally {
    log.close()
  }
}

function newestOf(log: LogReader): number | null {
  const newest = log.newest(['PolicyUpdated'])
  return newest?.type === 'PolicyUpdated' ? newest.data.version : null
}
