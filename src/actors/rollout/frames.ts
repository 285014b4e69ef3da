/** Screens of rollouts. The player takes them, the log keeps them, and the judge reads them. */
import type { Episode } from '../../environments/port.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import { partOf } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { EventData } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { ImageRef } from '../../models/port.ts'

/** Keeps a picture of an episode as a blob of the run. Errors: `setting.lacks`. */
export function pictureTaker(
  { setting, environment }: OpenSetting,
  putBlob: LogClient['putBlob'],
): (episode: Episode) => Promise<ImageRef> {
  const pictures = partOf(setting, 'pictures', 'a run whose screens are looked at')
  return async function look(episode) {
    const { bytes, width, height } = await pictures.picture(environment, episode)
    return { ...(await putBlob(bytes)), mediaType: 'image/png', width, height }
  }
}

export function framesRecorded(
  { rollout, iteration, task }: EventData<'RolloutRequested'>,
  frames: readonly ImageRef[],
): EventData<'FramesRecorded'> {
  return { rollout, iteration, task, frames: [...frames] }
}

/**
 * Returns the screens of a rollout, [steps + 1].
 *
 * @throws RlError `rollout.no-frames` if the log has none
 */
export async function framesOf(log: LogClient, rollout: string): Promise<readonly ImageRef[]> {
  const [position = null] = await log.positionsOf([`FramesRecorded/${rollout}`])
  const page = position === null ? null : await log.read({ from: position, limit: 1 })
  for (const [at, body] of page?.events ?? []) {
    const event = await log.decode(at, body)
    if (event.type === 'FramesRecorded') return event.data.frames
  }
  throw new RlError(`the log has no screens of rollout '${rollout}'`, { code: 'rollout.no-frames' })
}
