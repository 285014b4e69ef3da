import { RlError } from '../../errors.ts'

/**
 * Most facts that one query may look at. Real games need some hundreds. A hostile file could ask for 10^20.
 */
const MAX_WORK = 5_000_000

/** Counts the facts looked at since the last `start`. All queries share it, because they never interleave. */
export const budget = {
  left: MAX_WORK,
  start(): void {
    budget.left = MAX_WORK
  },
}

export function exhausted(): never {
  throw new RlError(`a condition of the game looks at more than ${MAX_WORK} facts`, {
    code: 'alfworld.too-large',
    hint: 'an action or a text of the game joins too many facts without a restriction',
  })
}
