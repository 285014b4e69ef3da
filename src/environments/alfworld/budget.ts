import { RlError } from '../../errors.ts'

/** Facts that one query may look at. Real games need some hundreds; a hostile file could ask for 10^20. */
const MAX_WORK = 5_000_000

/** Counts the facts looked at since the last `start`; shared by all queries, which never interleave. */
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
