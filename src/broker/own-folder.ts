/**
 * Keeps the folder of a run private to its owner. An existing folder may have been made by somebody else, or
 * been open to all. Anybody who could write in it could redirect passwords to another place, and read them
 * there.
 */
import { chmodSync, lstatSync, readdirSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RlError } from '../errors.ts'
import { makePrivateFolder } from '../platform/files.ts'

/** Folders with much in them, which people move to another disk: their owner may have left a link. */
const MAY_BE_LINKS: ReadonlySet<string> = new Set(['blobs', 'checkpoints'])
/** Folders whose files hold secrets, or are written by name. */
const LOOKED_INTO: ReadonlySet<string> = new Set(['broker', 'credentials', 'logs'])

/**
 * Makes the folder, or makes an existing one and its content private.
 * @throws RlError `run.foreign-folder` if something in it is another user's, or a link
 */
export function takeRunFolder(folder: string): void {
  // Windows has no owners and modes of this kind.
  if (process.platform === 'win32') return
  makePrivateFolder(folder)
  const link = lstatSync(folder)
  const found = statSync(folder)
  const owners = ownersOf(folder)
  for (const { uid } of [link, found]) if (!owners.has(uid)) throw foreign(folder, 'belongs to another user')
  if (!found.isDirectory()) throw foreign(folder, 'is no folder')
  close(folder, found)
  // In a folder that others could write in, anything may be theirs.
  const wasOpen = (found.mode & 0o022) !== 0
  look(folder, owners, (name) => wasOpen || LOOKED_INTO.has(name), MAY_BE_LINKS)
}

function look(
  folder: string,
  owners: ReadonlySet<number>,
  looksInto: (name: string) => boolean,
  mayBeLinks: ReadonlySet<string>,
): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const found = lstatSync(path, { throwIfNoEntry: false })
    // A file of SQLite, or of a process that ends, may be gone by now.
    if (!found) continue
    if (!owners.has(found.uid)) throw foreign(path, 'belongs to another user')
    if (found.isSymbolicLink()) {
      const target = mayBeLinks.has(name) ? statSync(path, { throwIfNoEntry: false }) : undefined
      if (!target?.isDirectory() || !owners.has(target.uid)) throw foreign(path, 'is a link')
      close(path, target)
      continue
    }
    close(path, found)
    if (found.isDirectory() && looksInto(name)) look(path, owners, () => true, new Set())
  }
}

/**
 * Returns the accepted owners: this user. Root also accepts the owner of the folder of all runs, as in a
 * container.
 */
function ownersOf(folder: string): ReadonlySet<number> {
  const own = process.getuid?.() ?? 0
  return new Set(own === 0 ? [own, statSync(dirname(folder)).uid] : [own])
}

function close(path: string, { mode }: Stats): void {
  if ((mode & 0o077) === 0) return
  try {
    chmodSync(path, mode & 0o700)
  } catch (error) {
    // Some file systems have no modes. Their files are open to everybody who may mount them.
    if (!['EPERM', 'ENOTSUP', 'EINVAL', 'EROFS'].includes(String((error as NodeJS.ErrnoException).code)))
      throw error
  }
}

function foreign(path: string, what: string): RlError {
  return new RlError(`${path} ${what}: a run's folder must belong to this user alone`, {
    code: 'run.foreign-folder',
    hint: 'inspect and remove it, or choose another run id (--run) or folder of runs (RL_RUNS)',
  })
}
