/** Whether roles of a run may lie on other disks. If so, files of new versions go into the log too. */
import { existsSync } from 'node:fs'
import { readConnection, runFolder } from '../broker/connection.ts'
import { isLoopback } from '../platform/proxy.ts'
import { PARENT_PIPE, ROLES_APART } from './head/children.ts'

/**
 * A head tells its own processes. A process that no head started is on the head's disk if it sees the log there, but others may be on
 * other hosts: the broker is not on loopback, or proves its identity to them.
 *
 * @param url addresses of the brokers, with commas
 */
export function isApart(run: string, url: string): boolean {
  if (isChild()) return process.env[ROLES_APART] === '1'
  const { log, connection } = runFolder(run)
  if (!existsSync(log) || !url.split(',').every((one) => isLoopback(new URL(one).hostname))) return true
  return readConnection(connection)?.ca !== undefined
}

/** Whether a head started this process. */
export function isChild(): boolean {
  return process.env[PARENT_PIPE] === '1'
}
