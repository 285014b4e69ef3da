/** Versions of the models: made, handed to a trainer outside, brought to servers and taken from them. */
import { isDeepStrictEqual } from 'node:util'
import type { EventData } from '../../../events/catalogue.ts'
import type { ModelRole } from '../../learner/checkpoints.ts'
import { VERSION_EVENTS } from '../../learner/version-events.ts'
import type { DueVersion } from './asked.ts'
import { causeWrong, type Saying, type Situation, type Told } from './situation.ts'

/** Natural key of the event that makes a version known. */
export function updatedKey(role: ModelRole, version: number): string {
  return `${VERSION_EVENTS[role].updated}/${version}`
}

function dueOf(role: ModelRole, version: number, { asked }: Situation): DueVersion | string {
  const due = asked.due[role]
  if (due?.version === version) return due
  const next = asked.versions[role] + 1
  return due
    ? `version ${due.version} of the ${role} is due`
    : `version ${next} of the ${role} is not due yet`
}

/**
 * Checks an event about a version that is due. It comes from the job's own worker, or from an outside trainer that
 * answers the batch.
 */
export function versionUnasked(
  role: ModelRole,
  { data, cause }: Saying<{ readonly version: number }>,
  situation: Situation,
): string | null {
  if (!situation.user.startsWith(role)) return `only the ${role} makes its versions`
  const due = dueOf(role, data.version, situation)
  if (typeof due === 'string') return due
  return cause !== null && cause === due.batch ? null : causeWrong(cause, due.cause, situation)
}

export function updateUnasked(
  role: ModelRole,
  event: Saying<EventData<'PolicyUpdated'>>,
  situation: Situation,
): string | null {
  const { version, iteration, parentVersion } = event.data
  const parent = version === 0 ? null : version - 1
  return (
    versionUnasked(role, event, situation) ??
    (iteration !== version ? `version ${version} is that of iteration ${version}` : null) ??
    (parentVersion !== parent ? `its parent is version ${parent}` : null)
  )
}

export function batchUnasked(event: Told<'BatchReady'>, situation: Situation): string | null {
  const { role = 'policy', version, iteration, parentVersion } = event.data
  const wrong = versionUnasked(role, event, situation)
  if (wrong !== null) return wrong
  return iteration === version && parentVersion === version - 1
    ? null
    : `version ${version} is that of iteration ${version}`
}

/** Looked up and not held: versions wait for their servers as long as these take. */
export function publishedUnasked(
  role: ModelRole,
  { data, cause }: Saying<EventData<'PolicyPublished'>>,
  situation: Situation,
): string | null {
  const updated = situation.log.byKey(updatedKey(role, data.version))
  if (updated?.type !== VERSION_EVENTS[role].updated) return `there is no ${role} version ${data.version}`
  if (!isDeepStrictEqual(updated.data.checkpoint, data.checkpoint))
    return `its checkpoint is not that of ${role} version ${data.version}`
  if (data.serving > data.version) return `version ${data.serving} is newer than the one that is published`
  return causeWrong(cause, updated.id, situation)
}

export function retiredUnasked(
  role: ModelRole,
  { data }: Saying<EventData<'PolicyRetired'>>,
  { log }: Situation,
): string | null {
  const { published, retired } = VERSION_EVENTS[role]
  const event = log.byKey(`${published}/${data.version}`)
  if (event?.type !== published) return `${role} version ${data.version} is with no server`
  if (event.data.name !== data.name) return `servers know the version as ${event.data.name}`
  return log.positionOf('key', `${retired}/${data.version}`) === null ? null : 'it is retired'
}
