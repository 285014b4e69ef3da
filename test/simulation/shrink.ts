/** The fewest faults with which a world still goes wrong: parts of the list are left out as long as it does (delta debugging). */

export async function shrink(
  faults: readonly string[],
  fails: (faults: readonly string[]) => Promise<boolean>,
  most = 200,
): Promise<readonly string[]> {
  let left = [...faults]
  let tries = 0
  for (let size = Math.ceil(left.length / 2); size >= 1; ) {
    let shorter = false
    for (let at = 0; at < left.length && tries < most; ) {
      const without = [...left.slice(0, at), ...left.slice(at + size)]
      tries++
      if (await fails(without)) {
        left = without
        shorter = true
      } else at += size
    }
    if (tries >= most) break
    if (size === 1 && !shorter) break
    if (size > 1) size = Math.ceil(size / 2)
  }
  return left
}
