import type { TrainingSample } from '../../models/port.ts'

/**
 * The samples that a pass can take, and how many are longer: one that is too long is left out and counted, and ends no update.
 * @param most tokens of the longest that fits
 */
export function fittingSamples(
  samples: readonly TrainingSample[],
  most: number,
): { readonly samples: readonly TrainingSample[]; readonly counted: Readonly<Record<string, number>> } {
  const fitting = samples.filter(({ tokens }) => tokens.length <= most)
  const dropped = samples.length - fitting.length
  return { samples: fitting, counted: dropped > 0 ? { droppedTooLong: dropped } : {} }
}
