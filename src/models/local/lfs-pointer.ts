/** Pointers of Git LFS. A clone without `git lfs` has one in place of each large file. */
import { RlError } from '../../errors.ts'

const FIRST = 'version https://git-lfs.github.com/spec/'

/** Longest pointer of the specification, in bytes. */
const MOST_BYTES = 1024

/**
 * Refuses a pointer in place of a file.
 * @param head first bytes of the file
 * @throws RlError with this code if the file is a pointer
 */
export function refusePointer(head: Uint8Array, path: string, code: string): void {
  if (!Buffer.from(head.subarray(0, MOST_BYTES)).toString('latin1').startsWith(FIRST)) return
  throw new RlError(`${path} is a pointer of Git LFS and not the file itself`, {
    code,
    hint: '`git lfs pull` in its folder brings the file; `rl model get OWNER/NAME` fetches a model without git',
  })
}
