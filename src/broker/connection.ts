/** The folder of a run, and how its actors are reached: runs/<run>/connection.json, readable by its owner alone. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { RlError } from '../errors.ts'
import { checkRunId } from '../events/subjects.ts'

export type RunFolder = {
  readonly run: string
  readonly folder: string
  readonly log: string
  readonly projections: string
  readonly blobs: string
  readonly broker: string
  readonly connection: string
}

/** Where runs are kept: `RL_RUNS`, else `runs` in the working folder. */
export function runsFolder(): string {
  return resolve(process.env.RL_RUNS || 'runs')
}

export function runFolder(run: string, root = runsFolder()): RunFolder {
  const folder = join(root, checkRunId(run))
  return {
    run,
    folder,
    log: join(folder, 'events.db'),
    projections: join(folder, 'projections.db'),
    blobs: join(folder, 'blobs'),
    broker: join(folder, 'broker'),
    connection: join(folder, 'connection.json'),
  }
}

const connectionSchema = z.strictObject({
  run: z.string(),
  url: z.string(),
  token: z.string().nullable(),
  /** Process id of the head that wrote it. */
  pid: z.int(),
  host: z.string(),
  /** Milliseconds since 1970. */
  since: z.number(),
})

export type Connection = z.infer<typeof connectionSchema>

export function writeConnection(path: string, connection: Connection): void {
  writePrivately(path, `${JSON.stringify(connection, null, 2)}\n`)
}

/** The connection of a run, or null where no head has left one. */
export function readConnection(path: string): Connection | null {
  if (!existsSync(path)) return null
  const parsed = connectionSchema.safeParse(parseJson(readFileSync(path, 'utf8')))
  if (!parsed.success)
    throw new RlError(`${path} is not a connection file`, {
      code: 'run.bad-connection',
      hint: 'remove it and start the head again',
    })
  return parsed.data
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

export function removeConnection(path: string): void {
  rmSync(path, { force: true })
}

/** Writes a file whole or not at all, with mode 600: it holds a token. */
export function writePrivately(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true })
  const part = `${path}.${process.pid}.part`
  writeFileSync(part, content, { mode: 0o600 })
  renameSync(part, path)
}
