import { partsWithin } from '../../parts-within.ts'
import type { TrainingSample } from '../port.ts'

type Sized = { readonly sample: Pick<TrainingSample, 'tokens'> }

/** Returns batches of at most `budget` tokens. Samples are sorted by length, then filled in order. A longer sample is alone. */
export function microBatches<T extends Sized>(items: readonly T[], budget: number): T[][] {
  const lengthOf = ({ sample }: Sized) => sample.tokens.length
  return partsWithin(
    [...items].sort((a, b) => lengthOf(b) - lengthOf(a)),
    lengthOf,
    budget,
  )
}

/** Returns the number of tokens of all samples. */
export function tokensOf(items: readonly Sized[]): number {
  return items.reduce((sum, { sample }) => sum + sample.tokens.length, 0)
}
