/** Serves the other brokers of a head's cluster: the head waits for them, and tells them who may join. */
import { join, relative } from 'node:path'
import { type RunFolder, writeCredentials, writePrivately } from '../../broker/connection.ts'
import { type JoinFile, readJoins, writeJoins } from '../../broker/joins.ts'
import { memberFilePath, publishedJoins, publishJoins } from '../../broker/members.ts'
import type { Member } from '../../broker/server-config.ts'
import { pause } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import type { Bus } from '../../events/bus.ts'
import { USERS } from '../../events/users.ts'
import { joinedAddress } from '../joined.ts'
import { fenceBucket } from '../runtime/run-over.ts'

const LOOK_MS = 500
/** Time between lines that name what is awaited. */
const TELL_MS = 60_000
const TOLD_AGAIN = 10

/** Waits until most of the brokers are there: before that they keep nothing. */
export async function awaitMembers(
  bus: Bus,
  folder: RunFolder,
  members: readonly Member[],
  say: (line: string) => void,
): Promise<void> {
  const store = bus.store({ name: fenceBucket(folder.run) })
  let toldAt = Number.NEGATIVE_INFINITY
  for (;;) {
    try {
      return await store.ensure()
    } catch (error) {
      if (!(error instanceof RlError)) throw error
    }
    if (performance.now() - toldAt > TELL_MS) {
      toldAt = performance.now()
      say('waiting for most of the brokers; copy each file to its host, and start it there:')
      for (const member of members.slice(1))
        say(`  ${member.host}: npm start -- --join ${relative('', memberFilePath(folder, member))}`)
    }
    await pause(LOOK_MS)
  }
}

/**
 * Tells the other brokers who may join, at each change and now and then. A standby that became the head goes on with the list that it
 * finds. Returns a function that ends it.
 */
export function shareJoins(bus: Bus, folder: RunFolder): () => void {
  let told = ''
  let looks = 0
  let inherited = readJoins(folder).length > 0

  async function look(): Promise<void> {
    if (!inherited) {
      const joins = await publishedJoins(bus, folder.run)
      if (joins !== null) writeJoins(folder, joins)
      inherited = true
    }
    const joins = readJoins(folder)
    const text = JSON.stringify(joins)
    if (joins.length === 0 || (text === told && ++looks % TOLD_AGAIN !== 0)) return
    publishJoins(bus, folder.run, joins)
    told = text
  }

  const timer = setInterval(() => void look().catch(() => {}), 2 * LOOK_MS)
  return () => clearInterval(timer)
}

/**
 * Keeps the keys of a head that joined its run by a file for the roles and tools of its machine. Returns the file of the authority, and
 * the key of tools.
 */
export function keepKeys(
  folder: RunFolder,
  file: JoinFile,
): { readonly ca: string; readonly nkey: string | undefined } {
  const ca = join(folder.broker, 'tls', 'ca.pem')
  writePrivately(ca, file.ca)
  for (const user of USERS) {
    const nkey = file.keys?.[user]
    if (nkey !== undefined) writeCredentials(folder, user, { ...joinedAddress(file), user, nkey, ca })
  }
  return { ca, nkey: file.keys?.tool }
}
