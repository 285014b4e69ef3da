/** Versions of models whose files were deleted, because a run keeps the newest alone (`run.keepVersions`). */
import { RlError } from '../errors.ts'
import type { LoggedEvent } from './catalogue.ts'
import type { LogReader } from './log-reader.ts'

/** Returns the versions of a role that events tell as deleted. */
export function collectedOf(told: Iterable<LoggedEvent<'CheckpointsCollected'>>, role: string): Set<number> {
  return new Set([...told].flatMap(({ data }) => (data.role === role ? data.versions : [])))
}

/** Returns the versions of a role that a log tells as deleted. */
export function collectedIn(log: Pick<LogReader, 'events'>, role: string): Set<number> {
  return collectedOf(log.events({ types: ['CheckpointsCollected'] }), role)
}

/** The error of who asks for a version that was deleted. */
export function collectedError(role: string, version: number): RlError {
  return new RlError(
    `the weights of ${role} version ${version} were deleted: the run keeps the newest alone`,
    {
      code: 'model.collected',
      hint: 'take a newer version; a run without run.keepVersions keeps them all',
    },
  )
}
