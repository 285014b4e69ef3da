/** A user namespace with two kinds of users: the runner's, and one for the programs of each slot. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, writeFileSync } from 'node:fs'

/** If this process is root, sandboxes belong to these otherwise unused users. */
const FIRST_UID = 61_000

export type UserNamespace = {
  /** To be given to bwrap as a descriptor. */
  readonly fd: number
  /** The user, on this machine, that owns the namespace and that bwrap must be started as. */
  readonly owner: number
  readonly close: () => void
}

/** Makes a namespace that goes on as long as its descriptor is open, and waits to be ended. */
const HOLDER = `import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x10000000) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
os.write(1, b'R')
os.read(0, 1)
`

/**
 * Opens a user namespace. Inside it, user 0 runs the runner and users 1 to \`programs\` the programs. Returns
 * null if this process may not give a namespace more than one user (it is not root). Then runner and program
 * are one user, in namespaces that keep them apart.
 */
export async function openUserNamespace(python: string, programs: number): Promise<UserNamespace | null> {
  if (process.getuid?.() !== 0) return null
  const holder = spawn(python, ['-I', '-S', '-B', '-c', HOLDER], {
    uid: FIRST_UID,
    gid: FIRST_UID,
    env: {},
    cwd: '/',
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const ended = once(holder, 'close')
  try {
    const ready = await Promise.race([once(holder.stdout, 'data'), ended.then(() => null)])
    if (ready === null) return null
    const map = `0 ${FIRST_UID} ${programs + 1}`
    writeFileSync(`/proc/${holder.pid}/uid_map`, map)
    writeFileSync(`/proc/${holder.pid}/gid_map`, map)
    const fd = openSync(`/proc/${holder.pid}/ns/user`, 'r')
    return { fd, owner: FIRST_UID, close: () => closeSync(fd) }
  } catch {
    return null // e.g. root of a container that may map only itself
  } finally {
    holder.stdin.on('error', () => {}).end()
    await ended
  }
}
