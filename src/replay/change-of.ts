/** Sums in another order differ in their last digits. */
const SAME = 1e-9

/** Change of an advantage: `turned` up to down or back, `switched` on or off, `moved` in size alone. */
export type Change = 'turned' | 'switched' | 'moved' | 'none'

/** Compares a step's advantage with what it was. */
export function changeOf(was: number, is: number): Change {
  const [a, b] = [Math.sign(was), Math.sign(is)]
  if (a * b < 0) return 'turned'
  if (a !== b) return 'switched'
  return Math.abs(was - is) > SAME * Math.abs(was) ? 'moved' : 'none'
}
