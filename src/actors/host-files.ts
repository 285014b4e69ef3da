/** Compares the files of this host with those that the head recorded. Small tasks that are missing come from the log. */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { runFolder } from '../broker/connection.ts'
import type { Config } from '../config.ts'
import { RlError } from '../errors.ts'
import type { EventData, LoggedEvent } from '../events/catalogue.ts'
import type { LogClient } from '../events/log-client.ts'
import type { UserPart } from '../registry.ts'
import { fetchFolder } from './learner/shared-files.ts'
import { DATA, digestOfTree, type OwnFile, ownFiles } from './own-files.ts'
import { readEvents } from './rollout/log-queries.ts'

type Recorded = EventData<'OwnFilesRecorded'>['files'][number]

export type Compared = {
  readonly key: string
  /** Its place on this host. Null if the config does not tell it. */
  readonly path: string | null
  /** Digest on this host. Null if it is not there. */
  readonly here: string | null
  readonly there: string
  /** `shared`: another file, or none, is here, and the log has the head's. */
  readonly result: 'same' | 'shared' | 'other'
  readonly recorded: Recorded
}

/**
 * Compares the files of a config one after another. A module is run only after all before it were the same, if the caller
 * stops at the first other one.
 */
export async function* compareFiles(log: LogClient, config: Config): AsyncGenerator<Compared> {
  const recorded = new Map((await recordedFiles(log)).map((file) => [file.key, file]))
  if (recorded.size === 0) return
  try {
    for await (const own of ownFiles(config)) {
      const file = recorded.get(own.key)
      if (file === undefined) continue
      recorded.delete(own.key)
      yield comparedTo(file, own)
    }
  } catch (error) {
    if (!(error instanceof RlError && error.code === 'module.missing')) throw error
    const [first] = recorded.values()
    throw otherFiles(`${error.message}; the head has SHA-256 ${first?.sha256}`)
  }
  const named = (key: string) => (key === DATA ? config.environment.data : null)
  for (const file of recorded.values()) yield comparedTo(file, { path: named(file.key), sha256: null })
}

function comparedTo(
  recorded: Recorded,
  { path, sha256: here }: { readonly path: OwnFile['path'] | null; readonly sha256: string | null },
): Compared {
  const { key, sha256: there } = recorded
  const result = here === there ? 'same' : recorded.shared === undefined ? 'other' : 'shared'
  return { key, path, here, there, result, recorded }
}

/** Returns what the head recorded at its last start. A head whose roles share its disk records nothing. */
async function recordedFiles(log: LogClient): Promise<readonly Recorded[]> {
  const { events } = await readEvents(log, 1, ['RunStarted', 'RunResumed', 'OwnFilesRecorded'])
  const last = events.findLast((event) => event.type === 'OwnFilesRecorded')
  const isOver = last !== undefined && events.some((one) => isStart(one) && one.position > last.position)
  return last?.type === 'OwnFilesRecorded' && !isOver ? last.data.files : []
}

function isStart({ type, data }: LoggedEvent): boolean {
  return type === 'RunStarted' || (type === 'RunResumed' && data.codeVersion !== undefined)
}

/**
 * Resolves to the config with which a role works on this host. Tasks that came from the log have their place here in it.
 * @throws RlError `host.other-files` with both digests if a file is not the head's
 */
export async function withFilesOf(log: LogClient, config: Config): Promise<Config> {
  let data = config.environment.data
  for await (const compared of compareFiles(log, config)) {
    if (compared.result === 'other') throw otherFiles(difference(compared))
    if (compared.result === 'shared') data = await fetchData(log, compared)
  }
  return data === config.environment.data
    ? config
    : { ...config, environment: { ...config.environment, data } }
}

/** Tells both digests of a file. */
export function difference({ key, path, here, there }: Compared): string {
  const place = path === null ? key : `${key}: ${path}`
  return here === null
    ? `${place} is not on this host; the head has SHA-256 ${there}`
    : `${place} is not the head's: SHA-256 ${here} here, ${there} there`
}

function otherFiles(message: string): RlError {
  return new RlError(message, {
    code: 'host.other-files',
    hint: "copy it from the head's host to the same place, and start the role again",
  })
}

/** Places fetched tasks under their digest: another start of the role finds them there. */
async function fetchData(log: LogClient, { recorded }: Compared): Promise<string> {
  const { sha256, shared = [] } = recorded
  const folder = join(runFolder(log.run).folder, 'data', sha256.slice(0, 16))
  // The digest of a folder is over names as well, so it differs from that of its only file.
  const [first] = shared
  const path = first !== undefined && first.sha256 === sha256 ? join(folder, first.name) : folder
  if (existsSync(folder) && (await isSame(path, sha256))) return path
  await rm(folder, { recursive: true, force: true })
  await fetchFolder(log, shared, folder)
  return path
}

async function isSame(path: string, sha256: string): Promise<boolean> {
  return existsSync(path) && (await digestOfTree(path)) === sha256
}

/**
 * Checks the user's rules, providers and sandboxes that are loaded here.
 * @throws RlError `host.other-files` if one is not the head's
 */
export async function checkParts(log: LogClient, parts: readonly UserPart[]): Promise<void> {
  const { events } = await readEvents(log, 1, ['RunStarted', 'RunResumed'])
  const rules = events.findLast(isStart)?.data
  for (const { kind, name, digest } of parts) {
    const there =
      rules && 'rules' in rules ? rules.rules?.find((one) => one.kind === kind && one.name === name) : null
    if (there && there.digest !== digest)
      throw otherFiles(
        `the ${kind} '${name}' is not the head's: SHA-256 ${digest} here, ${there.digest} there`,
      )
  }
}
