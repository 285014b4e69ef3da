/**
 * Hosts that may join a run. Each has a key of its own: the run's folder holds the public half, the host's file the
 * secret one. The head lets the broker know of each change.
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { RlError } from '../errors.ts'
import { ROLES } from '../events/envelope.ts'
import { newKey } from '../events/nats/keys.ts'
import { isUser, USERS, type User } from '../events/users.ts'
import { firstIssue, safeParse } from '../safe-parse.ts'
import { readText } from '../text-file.ts'
import { type RunFolder, readPrivate, writePrivately } from './connection.ts'

const user = z.custom<User>((value) => typeof value === 'string' && isUser(value), 'is no user of a run')
const publicKey = z.string().regex(/^U[A-Z2-7]{55}$/)
const secretKey = z.string().regex(/^SU[A-Z2-7]{56}$/)
const time = z.int().nonnegative()

export const joinsSchema = z.array(
  z.strictObject({
    /** Names the host's right, e.g. `environment-3f2a`. */
    id: z.string().regex(/^[a-z0-9-]{1,64}$/),
    user,
    key: publicKey,
    /** Milliseconds since 1970. */
    since: time,
    until: time,
    /** The right that this one is part of: a standby head has those of its own roles and tools. */
    of: z.string().optional(),
  }),
)

/** A host's right to join. */
export type Join = z.infer<typeof joinsSchema>[number]

const fileSchema = z.strictObject({
  v: z.literal(1),
  id: z.string(),
  run: z.string(),
  /** SHA-256 (hex) of the run's first event: another run may have the same name. */
  runStart: z.string().regex(/^[0-9a-f]{64}$/),
  /** Version of the code that runs the head. */
  code: z.string(),
  role: z.enum(ROLES),
  /** A further worker of the role, which decides nothing. */
  worker: z.boolean(),
  servers: z.array(z.string()).min(1).max(16),
  /** Certificate of the servers' authority (PEM). */
  ca: z.string().max(65_536),
  user,
  nkey: secretKey,
  /** Keys of the users on the machine of a standby head. */
  keys: z.partialRecord(user, secretKey).optional(),
  /** Milliseconds since 1970. */
  expires: time,
  /** Store of the run's checkpoints, `run.store` of its config. The host needs keys for it in its environment. */
  store: z.string().max(512).optional(),
})

/** All that a host needs to join a run. */
export type JoinFile = z.infer<typeof fileSchema>

function pathIn({ broker }: Pick<RunFolder, 'broker'>): string {
  return join(broker, 'joins.json')
}

/** Returns the hosts' rights, also those whose time is over. */
export function readJoins(folder: Pick<RunFolder, 'broker'>): readonly Join[] {
  return readPrivate(pathIn(folder), joinsSchema) ?? []
}

export function writeJoins(folder: Pick<RunFolder, 'broker'>, joins: readonly Join[]): void {
  writePrivately(pathIn(folder), `${JSON.stringify(joins, null, 2)}\n`)
}

/** Returns a new right, and the secret half of its key. */
export function newJoin(
  user: User,
  ttlMs: number,
  now = Date.now(),
): { readonly join: Join; readonly nkey: string } {
  const { key, secret } = newKey()
  const id = `${user}-${randomBytes(3).toString('hex')}`
  return { join: { id, user, key, since: now, until: now + ttlMs }, nkey: secret }
}

/** Returns rights of all other users on the machine of a standby head, and their keys. */
export function joinsOfHead({ id, since, until }: Join): {
  readonly joins: readonly Join[]
  readonly keys: Partial<Record<User, string>>
} {
  const keys: Partial<Record<User, string>> = {}
  const joins = USERS.filter((one) => one !== 'head').map((one): Join => {
    const { key, secret } = newKey()
    keys[one] = secret
    return { id: `${id}-${one}`, user: one, key, since, until, of: id }
  })
  return { joins, keys }
}

/**
 * Reads a host's file.
 * @throws RlError `join.bad-file`, `join.expired`
 */
export async function readJoinFile(path: string, now = Date.now()): Promise<JoinFile> {
  if (!existsSync(path)) throw badFile(path, 'there is no such file')
  let content: unknown
  try {
    content = JSON.parse(await readText(path))
  } catch {
    throw badFile(path, 'it is not JSON')
  }
  const parsed = safeParse(fileSchema, content)
  if (!parsed.success) {
    const { path: at, message } = firstIssue(parsed.error)
    throw badFile(path, `${at.join('.') || 'it'}: ${message}`)
  }
  const { id, run, role, expires } = parsed.data
  if (expires <= now)
    throw new RlError(`${path}: its time ended at ${new Date(expires).toISOString()}`, {
      code: 'join.expired',
      hint: `on the head's host: npm run -s rl -- join ${run} rotate ${id}, or join ${run} --role ${role}`,
    })
  return parsed.data
}

function badFile(path: string, why: string): RlError {
  return new RlError(`${path} is no file of a host that joins: ${why}`, {
    code: 'join.bad-file',
    hint: "npm run -s rl -- join RUN --role ROLE -o FILE writes one on the head's host; copy it whole",
  })
}
