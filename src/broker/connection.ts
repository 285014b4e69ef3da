/**
 * The folder of a run, and how its broker is reached. connection.json has what a tool needs,
 * credentials/<user>.json what any other user needs. Only the owner can read them.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { RlError } from '../errors.ts'
import type { BusAddress } from '../events/bus.ts'
import { parseAddress } from '../events/nats/connect.ts'
import { checkRunId } from '../events/subjects.ts'
import type { User } from '../events/users.ts'
import { safeParse } from '../safe-parse.ts'

export type RunFolder = {
  readonly run: string
  readonly folder: string
  readonly log: string
  readonly projections: string
  readonly blobs: string
  readonly broker: string
  readonly connection: string
  readonly credentials: string
  /** Signs of life of the run's processes on this machine. */
  readonly alive: string
}

/**
 * Folder of all runs: `RL_RUNS`, else `runs` in the working folder.
 * @example runsFolder() // e.g. '/home/me/project/runs'
 */
export function runsFolder(): string {
  return resolve(process.env.RL_RUNS || 'runs')
}

/**
 * Returns the paths of a run's files. Nothing is read or made.
 * @throws RlError `run.bad-id`
 * @example const log = openLogReader(runFolder('run-1').log)
 */
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
    credentials: join(folder, 'credentials'),
    alive: join(folder, 'alive'),
  }
}

const connectionSchema = z.strictObject({
  run: z.string(),
  url: z.string(),
  /** All brokers of the cluster that the head's own is part of. */
  servers: z.array(z.string()).optional(),
  /** Token of a broker that knows no users of ours. */
  token: z.string().nullable(),
  /** User of a tool, which reads. Null if there is a token. */
  user: z.string().nullable(),
  password: z.string().nullable(),
  /** Secret key of a tool, on the machine of a head that joined its run by a file. */
  nkey: z.string().optional(),
  /** File with the certificate of the broker's authority, if it proves its identity. */
  ca: z.string().optional(),
  /** Process id of the head that wrote it. */
  pid: z.int(),
  /** Identity of the head's process, as `processText` writes it. Heads of older versions do not tell it. */
  process: z.string().optional(),
  host: z.string(),
  /** Milliseconds since 1970. */
  since: z.number(),
})

export type Connection = z.infer<typeof connectionSchema>

export function writeConnection(path: string, connection: Connection): void {
  writePrivately(path, `${JSON.stringify(connection, null, 2)}\n`)
}

/** Returns the connection of a run, or null if no head has left one. */
export function readConnection(path: string): Connection | null {
  return readPrivate(path, connectionSchema)
}

/** Returns how a tool reaches the broker of a connection. */
export function toolAddress({ url, token, user, password, nkey, ca }: Connection): BusAddress {
  return {
    ...{ url, token: token ?? undefined, user: user ?? undefined, password: password ?? undefined, nkey, ca },
  }
}

/**
 * Returns how a program on this machine reaches a run. Returns null until the run's head is up.
 * @param user a tool reads; a worker of a role, e.g. `policy-worker` for a trainer, may append the role's
 * events
 * @example
 * const address = runAddress('run-1')
 * if (address) console.log(address.url)
 */
export function runAddress(run: string, user: User = 'tool'): BusAddress | null {
  const folder = runFolder(run)
  const connection = readConnection(folder.connection)
  return connection && (readCredentials(folder, user) ?? toolAddress(connection))
}

/** The address with the credentials that the environment names. */
export function addressFromEnvironment(url: string): BusAddress {
  const { NATS_TOKEN, NATS_USER, NATS_PASSWORD, NATS_CA } = process.env
  return {
    url,
    token: NATS_TOKEN || undefined,
    user: NATS_USER || undefined,
    password: NATS_PASSWORD || undefined,
    ca: NATS_CA || undefined,
  }
}

/** Returns the environment of a process that will connect. Credentials are never in arguments. */
export function environmentOf(address: BusAddress): NodeJS.ProcessEnv {
  const { server, login } = parseAddress(address)
  return {
    NATS_URL: server,
    NATS_TOKEN: login.token,
    NATS_USER: login.user,
    NATS_PASSWORD: login.pass,
    NATS_CA: address.ca,
  }
}

const credentialsSchema = z.strictObject({
  url: z.string().refine((url) => url.split(',').every((one) => URL.canParse(one))),
  user: z.string(),
  password: z.string().optional(),
  /** In place of a password. */
  nkey: z.string().optional(),
  ca: z.string().optional(),
})

/**
 * Writes the file with which a user of the run's own broker connects. For another host the file is copied
 * there.
 */
export function writeCredentials(
  { credentials }: RunFolder,
  user: User,
  { url, password, nkey, ca }: BusAddress,
): void {
  writePrivately(
    join(credentials, `${user}.json`),
    `${JSON.stringify({ url, user, password, nkey, ca }, null, 2)}\n`,
  )
}

/** Returns null if the run has no broker of its own, or not on this host. */
export function readCredentials({ credentials }: RunFolder, user: User): BusAddress | null {
  return readPrivate(join(credentials, `${user}.json`), credentialsSchema)
}

/**
 * Reads a file of the run's folder that holds secrets. Returns null if there is none.
 * @throws RlError `run.bad-connection`
 */
export function readPrivate<Schema extends z.ZodType>(path: string, schema: Schema): z.output<Schema> | null {
  if (!existsSync(path)) return null
  const parsed = safeParse(schema, readJson(path))
  if (parsed.success) return parsed.data
  throw new RlError(`${path} is damaged, or another program wrote it`, {
    code: 'run.bad-connection',
    hint: 'remove it and start the head again',
  })
}

/** Returns null if the file cannot be read, or if it is a folder. */
function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}

export function removeConnection(path: string): void {
  rmSync(path, { force: true })
}

/** Writes a file whole or not at all, with mode 600: it holds a token. */
export function writePrivately(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // A new file: a name that can be guessed may already be a link.
  const part = `${path}.${randomUUID()}.part`
  try {
    writeFileSync(part, content, { mode: 0o600, flag: 'wx' })
    renameSync(part, path)
  } catch (error) {
    rmSync(part, { force: true })
    throw error
  }
}
