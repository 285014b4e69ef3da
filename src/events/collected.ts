/** Versions of models whose files were deleted, because a run keeps the newest alone (`run.keepVersions`). */
import { RlError } from '../errors.ts'
import type { LogReader } from './log-reader.ts'

export type Collected = {
  readonly has: (role: string, version: number) => boolean
}

/** Reads which versions a log tells as deleted. */
export function collectedIn(log: Pick<LogReader, 'events'>): Collected {
  const all = new Set<string>()
  for (const { data } of log.events({ types: ['CheckpointsCollected'] }))
    for (const version of data.versions) all.add(`${data.role}/${version}`)
  return { has: (role, version) => all.has(`${role}/${version}`) }
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
