/**
 * Brokers of a run on other hosts. Each has a file, as a host that joins has one: who copies it there starts the broker by it. The head
 * tells all of them who may join.
 */
import { existsSync } from 'node:fs'
import { join as joinPath } from 'node:path'
import { z } from 'zod'
import { RlError } from '../errors.ts'
import type { Bus } from '../events/bus.ts'
import { isRecord } from '../is-record.ts'
import { firstIssue, safeParse } from '../safe-parse.ts'
import { readText } from '../text-file.ts'
import { type RunFolder, readPrivate, writePrivately } from './connection.ts'
import { type Join, joinsSchema, newJoin, readJoins, writeJoins } from './joins.ts'
import type { Member } from './server-config.ts'

const memberSchema = z.strictObject({ host: z.string().min(1).max(253), port: z.int().min(1).max(65_535) })

const memberFileSchema = z.strictObject({
  v: z.literal(1),
  kind: z.literal('broker'),
  run: z.string(),
  /** Number of this broker among the members, from 0. The head's own is 0. */
  index: z.int().min(1).max(8),
  members: z.array(memberSchema).min(3).max(9),
  /** PEM: the certificate of the authority, that of this broker, and its key. */
  ca: z.string().max(65_536),
  certificate: z.string().max(65_536),
  key: z.string().max(65_536),
  /** Hosts that may join. */
  joins: joinsSchema,
  /** Secret half of the key with which the process of this broker reads who may join. */
  nkey: z.string().regex(/^SU[A-Z2-7]{56}$/),
})

/** All that a host needs to run a broker of a cluster. */
export type MemberFile = z.infer<typeof memberFileSchema>

const USUAL_PORT = 4_222
/** Users of brokers among the hosts that may join: they read. Their right does not end. */
const FOR_EVER = 100 * 365 * 86_400_000

/**
 * Reads the addresses of `--cluster`: one, or three and more of a cluster.
 *
 * @throws RlError `cli.usage` that names the address
 * @example membersOf('10.0.0.1,10.0.0.2,10.0.0.3:4333')
 */
export function membersOf(text: string): readonly Member[] {
  const members = text.split(',').map((one) => {
    const [, host, , port] = /^([A-Za-z0-9][A-Za-z0-9.-]{0,252})(:(\d{1,5}))?$/.exec(one.trim()) ?? []
    const parsed = safeParse(memberSchema, { host, port: Number(port ?? USUAL_PORT) })
    if (parsed.success) return parsed.data
    throw usage(`${JSON.stringify(one.slice(0, 100))} is no address`, 'e.g. 10.0.0.1 or 10.0.0.1:4222')
  })
  if (members.length % 2 === 1 && new Set(members.map(({ host }) => host)).size === members.length)
    return members
  throw usage(
    `--cluster names ${members.length} brokers`,
    'name one address of this machine, or three different ones: most of an odd number agree',
  )
}

function usage(message: string, hint: string): RlError {
  return new RlError(message, { code: 'cli.usage', hint })
}

/** Path of the file of another broker. */
export function memberFilePath({ folder }: Pick<RunFolder, 'folder'>, { host }: Member): string {
  return joinPath(folder, `${host}.broker`)
}

/**
 * Writes the file of each broker but the first, which is the head's own. The keys of their processes stay the same.
 *
 * @param pems makes the certificate of a member
 */
export async function writeMembers(
  folder: RunFolder,
  members: readonly Member[],
  pems: (member: Member, index: number) => Promise<Pick<MemberFile, 'ca' | 'certificate' | 'key'>>,
): Promise<void> {
  const others = [...members.entries()].slice(1).map(([index, member]) => {
    const path = memberFilePath(folder, member)
    return { index, member, path, nkey: readPrivate(path, memberFileSchema)?.nkey ?? letIn(folder, member) }
  })
  for (const { index, member, path, nkey } of others) {
    const file: MemberFile = {
      ...{ v: 1, kind: 'broker', run: folder.run, index, members: [...members] },
      ...(await pems(member, index)),
      ...{ joins: [...readJoins(folder)], nkey },
    }
    writePrivately(path, `${JSON.stringify(file, null, 2)}\n`)
  }
}

/** Lets the process of a broker read who may join. Returns the secret half of its key. */
function letIn(folder: RunFolder, { host }: Member): string {
  const made = newJoin('tool', FOR_EVER)
  const id = `broker-${host.toLowerCase().replace(/[^a-z0-9]/g, '-')}`.slice(0, 64)
  writeJoins(folder, [...readJoins(folder).filter((one) => one.id !== id), { ...made.join, id }])
  return made.nkey
}

const KEY = 'joins'
const storeOf = (bus: Pick<Bus, 'store'>, run: string) => bus.store({ name: `rl-${run}-fence` })

/** Tells the other brokers who may join. */
export function publishJoins(bus: Pick<Bus, 'store'>, run: string, joins: readonly Join[]): void {
  storeOf(bus, run).put(KEY, Buffer.from(JSON.stringify(joins)))
}

/** Returns who may join, as the head told it last, or null. Errors: those of the bus. */
export async function publishedJoins(bus: Pick<Bus, 'store'>, run: string): Promise<readonly Join[] | null> {
  const found = await storeOf(bus, run).get(KEY)
  if (found === null) return null
  const parsed = safeParse(joinsSchema, JSON.parse(Buffer.from(found.value).toString()))
  return parsed.success ? parsed.data : null
}

/**
 * Reads the file of a broker. Returns null if the file is another one, e.g. that of a host that joins.
 *
 * @throws RlError `join.bad-file` if it is a damaged file of a broker
 */
export async function readMemberFile(path: string): Promise<MemberFile | null> {
  if (!existsSync(path)) return null
  let content: unknown
  try {
    content = JSON.parse(await readText(path))
  } catch {
    return null
  }
  if (!isRecord(content) || content.kind !== 'broker') return null
  const parsed = safeParse(memberFileSchema, content)
  if (parsed.success) return parsed.data
  const { path: at, message } = firstIssue(parsed.error)
  throw new RlError(`${path} is no file of a broker: ${at.join('.')}: ${message}`, {
    code: 'join.bad-file',
    hint: 'the head of the run writes one for each broker of its --cluster; copy it whole',
  })
}
